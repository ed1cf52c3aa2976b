import Catalog
import Configuration
import Files
import PipelineModel

/// Step 5: removal of sources whose bytes are safe.
extension Importer {
  /// Removes a source. The catalog records that with the next group: after a kill before that, the
  /// next run just finds the source gone.
  func removeSource(_ file: ImportGroup.Outcome, at now: Timestamp) throws(IngestError) {
    guard let attempt = file.attempt, let digest = file.digest else { return }
    guard file.awaitsRemoval else {
      if file.identity == nil { removal.noteRemoved(from: attempt.folder.path) }
      return
    }
    guard attempt.lease == .granted else {
      // A process may still be writing. The next run compares the whole identity again, and removes
      // the source then.
      return
    }
    let outcome = removal.remove(
      attempt.name, in: attempt.folder, expecting: attempt.status.identity, storedAs: digest)
    noteRemoval(file.sighting(in: source, at: now), outcome)
  }

  /// Removes the source of a file whose bytes were safe before this run, if the source's rules
  /// still say so.
  ///
  /// - Returns: whether the original is whole; if not, importing the source again heals it.
  func finishRemoval(of sighting: Sighting) throws(IngestError) -> Bool {
    guard source.moves, sighting.state != .duplicate || source.duplicates != .keep else {
      var kept = sighting
      kept.awaitsRemoval = false
      recordSilently(kept)
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
    case .gone:
      pendingChanges.append(.sourceRemoved(source: source.root, path: sighting.path))
    case .kept: pendingChanges.append(.sighting(sighting))
    // The catalog has it already: it awaits its removal.
    case .later: break
    }
  }
}
