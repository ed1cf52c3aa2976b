import Catalog
import Configuration
import Files
import PipelineModel

/// Step 5: what becomes of sources whose bytes are safe.
extension HandOff {
  /// Step 5. The catalog hears of it with the next group: a kill before that
  /// only means that the next run finds the source gone.
  func settleRemoval(_ ending: Group.Ending, at now: Timestamp) throws(IngestError) {
    guard let taking = ending.taking, let digest = ending.digest else { return }
    guard ending.awaitsRemoval else {
      if ending.identity == nil { removal.noteTaken(from: taking.folder.path) }
      return
    }
    guard taking.lease == .granted else {
      // Nobody can say whether somebody still writes. The next run compares the
      // whole identity once more, and removes the source then.
      return
    }
    let outcome = removal.remove(
      taking.name, in: taking.folder, expecting: taking.status.identity, storedAs: digest)
    noteRemoval(ending.sighting(in: source, at: now), outcome)
  }

  /// Removes the source of a file whose bytes were safe before this run, if the source's rules
  /// still say so.
  ///
  /// - Returns: whether the original is whole; if it is not, the source is to be
  ///   taken again, which heals it.
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
    // As it is in the catalog: it awaits its removal.
    case .later: break
    }
  }
}
