import Catalog
import Files
import Manifest
import Originals
import PipelineModel
import Records

/// The outcomes of a group of files so far.
@dynamicMemberLookup
final class ImportGroup {
  struct Outcome {
    var candidate: Candidate
    /// The open import when the bytes were stored; `nil` if it did not get that far.
    var attempt: ImportAttempt?
    /// The SHA-256 of the stored bytes; `nil` if none.
    var digest: Digest?
    var state: Sighting.State
    /// Whether the path is the asset's own although its bytes were already stored: a file that was
    /// only touched or renamed.
    var isOwnPath = false
    var asset: AssetID?
    var reason: String?
    /// The file left in the source; `nil` if none.
    var identity: FileIdentity?
    var awaitsRemoval = false
    var stored = 0
  }

  /// What becomes of the files, as far as it is decided on.
  struct Progress {
    var positionBefore: Int64 = 0
    var outcomes: [Outcome] = []
    /// Facts for the manifest, in order.
    var facts: [ManifestFact] = []
    /// Assets that this group made, by digest.
    var assets: [Digest: AssetID] = [:]
    /// Assets that this group restores from the trash.
    var restored: Set<AssetID> = []
    /// Other paths' states that change with this group.
    var otherSightings: [Sighting] = []
    /// Names in `incoming/` that are obsolete once the group is committed.
    var leftovers: [BytePath] = []
    /// Those of them whose bytes the store has only just got.
    var uploaded: [IncomingOriginal] = []
    /// Why the store could not be used for a file.
    var absence: FileError?
    /// The assets with the bytes of the files, as they were found.
    var seen = SeenAssets()
  }

  var progress = Progress()

  subscript<Value>(dynamicMember path: WritableKeyPath<Progress, Value>) -> Value {
    get { progress[keyPath: path] }
    // In place: a setter would copy a whole array for each element that is appended.
    _modify { yield &progress[keyPath: path] }
  }

  /// Whether there is something to record or report.
  var hasNews: Bool { progress.outcomes.contains(where: \.isNews) }

  /// Notes a file whose bytes a store elsewhere has got.
  func leave(_ file: IncomingFile, in incoming: Descriptor) {
    progress.leftovers.append(file.name)
    progress.uploaded.append(
      IncomingOriginal(folder: incoming, name: file.name, digest: file.digest))
  }

  /// Ends a candidate that was not imported. If it was named to `import`, that is a failure
  /// whatever the reason, because no later run retries it.
  func end(_ candidate: Candidate, state: Sighting.State, reason: String) {
    let isFailure = candidate.isNamed && [.settling, .gone, .ignored].contains(state)
    progress.outcomes.append(
      Outcome(
        candidate: candidate, state: isFailure ? .failed : state, asset: candidate.known?.asset,
        reason: isFailure ? "\(reason) It was not imported: import it again." : reason,
        identity: state == .gone ? nil : candidate.identity))
  }

  /// Ends a file whose bytes are stored.
  ///
  /// - Parameters:
  ///   - stored: the number of bytes stored for it.
  ///   - removesSource: whether to remove its source, if it is not gone already.
  ///   - returned: the file as it was put back, if it was.
  func end(
    _ file: IncomingFile, state: Sighting.State, asset: AssetID, reason: String?, stored: Int = 0,
    removesSource: Bool, returned: FileIdentity? = nil, isOwnPath: Bool = false
  ) {
    progress.outcomes.append(
      Outcome(
        candidate: file.attempt.candidate, attempt: file.attempt, digest: file.digest, state: state,
        isOwnPath: isOwnPath, asset: asset,
        reason: reason, identity: file.wasRenamed ? returned : file.attempt.status.identity,
        awaitsRemoval: removesSource && !file.wasRenamed, stored: stored))
  }
}

extension ImportGroup.Outcome {
  /// Whether it says more than is known of the path.
  var isNews: Bool { !candidate.isNoNews(state, reason: reason) }

  /// The outcome as the catalog records it.
  ///
  /// - Parameter run: the run whose outcome it is.
  func sighting(in source: IngestSource, run: AssetID?, at time: Timestamp) -> Sighting {
    Sighting(
      source: source.recorded, path: candidate.path, state: isOwnPath ? .imported : state,
      identity: identity, asset: asset,
      reason: reason, seenAt: time, awaitsRemoval: awaitsRemoval,
      run: digest == nil ? nil : run)
  }

  func event(in source: IngestSource) -> FileEvent {
    FileEvent(
      path: source.root.appending(candidate.path), outcome: state, asset: asset, reason: reason,
      storedBytes: stored)
  }
}

extension NewAsset {
  init(_ stored: ManifestFact.Stored, importedAt: Timestamp) {
    self.init(
      id: stored.asset, digest: stored.digest, size: stored.intent.identity.size,
      name: stored.intent.path.lastComponent, source: stored.intent.source,
      path: stored.intent.path, modified: stored.intent.identity.modified,
      permissions: stored.intent.permissions, importedAt: importedAt, run: stored.intent.run,
      supersedes: stored.supersedes)
  }
}
