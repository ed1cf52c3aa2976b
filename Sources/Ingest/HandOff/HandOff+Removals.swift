import Catalog
import Configuration
import Files
import PipelineModel

/// Step 5: removal of sources whose bytes are safe.
extension HandOff {
  /// Removes a source. The catalog records that with the next group: after a kill before that, the
  /// next run just finds the source gone.
  func settleRemoval(_ ending: Group.Ending, at now: Timestamp) throws(IngestError) {
    guard let taking = ending.taking, let digest = ending.digest else { return }
    guard ending.awaitsRemoval else {
      if ending.identity == nil { removal.noteTaken(from: taking.folder.path) }
      return
    }
    guard taking.lease == .granted else {
      // A process may still be writing. The next run compares the whole identity again, and removes
      // the source then.
      return
    }
    let outcome = removal.remove(
      taking.name, in: taking.folder, expecting: taking.status.identity, storedAs: digest)
    noteRemoval(ending.sighting(in: source, at: now), outcome)
  }

  /// Removes the source of a file whose bytes were safe before this run, if the source's rules
  /// still say so.
  ///
  /// - Returns: whether the original is whole; if not, importing the source again heals it.
  func finishRemoval(of sighting: Sighting) throws(IngestError) -> Bool {
    guard source.moves, sighting.state != .duplicate || source.duplicates != .keep else {
      var kept = sighting
      kept.awaitsRemoval = false
      noteQuietly(kept)
      return true
    }
    guard let identity = sighting.identity, let asset = sighting.asset,
      let digest = try translating({ try library.reader.asset(asset)?.digest })
    else { return false }
    library.verified.remove(digest)
    guard try isWhole(digest) else { return false }
    do throws(FileError) {
      let folder = try source.folder.openParent(of: sighting.path)
      let outcome = removal.remove(
        sighting.path.lastComponent, in: folder, expecting: identity, storedAs: digest)
      noteRemoval(sighting, outcome)
    } catch {
      report.warning(error.message)
    }
    return true
  }

  private func noteRemoval(_ sighting: Sighting, _ outcome: SourceRemoval.Outcome) {
    var sighting = sighting
    sighting.awaitsRemoval = false
    switch outcome {
    case .settled:
      settledRemovals.append(.sourceRemoved(source: source.root, path: sighting.path))
    case .kept: settledRemovals.append(.sighting(sighting))
    // The catalog has it already: it awaits its removal.
    case .later: break
    }
  }
}
