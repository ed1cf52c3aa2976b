import Configuration
import Files
import Hashing
import PipelineModel
package import Records
import Renditions

/// Moves renditions between database, files and buckets after a stage's `storage` or the place of renditions changed,
/// without decoding anything again.
///
/// Works on the caller's thread, before the engine's first pass.
package struct RenditionRelocation {
  private let engine: Engine
  private let plan: StagePlan

  package init(engine: Engine, plan: StagePlan) {
    self.engine = engine
    self.plan = plan
  }

  /// Moves misplaced renditions of stages whose policy or place changed.
  ///
  /// Unreadable bytes are scheduled to be made again. If a place can't be used or the run is stopped, the
  /// rest of the stage is moved next time and served from its current place until then.
  ///
  /// - Parameters:
  ///   - settings: stores the policies last applied.
  ///   - isStopped: whether to leave the rest; called before each few renditions.
  package func run(settings: any CatalogSettings, isStopped: () -> Bool) throws(EngineError) {
    for stage in plan.stages {
      let key = "stage.storage.\(stage.name)"
      let policy = stage.configuration.storage
      let threshold = engine.mostInDatabase(policy)
      let place = engine.renditions.place
      let wanted =
        "\(policy.rawValue) \(threshold)" + (engine.renditions.isOnServer ? " \(place)" : "")
      let last = try engine.inLedger(try settings.setting(key))
      if last == wanted { continue }
      switch try move(stage.name, threshold: threshold, isStopped: isStopped) {
      case .done: break
      case .stopped: return
      case .failed(let failure):
        engine.report.warning(
          "\(failure.message) The renditions of the stage \(stage.name) that are not where the configuration "
            + "wants them stay where they are until the next run.")
        continue
      }
      try engine.inLedger(try settings.set(key, to: wanted))
    }
  }

  private enum Outcome {
    case done, stopped
    /// Some can't be moved now.
    case failed(FileError)
  }

  private func move(
    _ stage: String, threshold: Int, isStopped: () -> Bool
  ) throws(EngineError) -> Outcome {
    while true {
      let misplaced = try engine.inLedger(
        try engine.ledger.misplacedRenditions(
          stage: stage, threshold: threshold, place: engine.renditions.place, limit: 64))
      if misplaced.isEmpty { return .done }
      // A database's bytes are held in memory, others are not.
      let stored = misplaced.filter { $0.bytes > threshold && $0.path != nil }
      let single = misplaced.filter { $0.bytes > threshold && $0.path == nil }.map { [$0] }
      for group in [stored] + single where !group.isEmpty {
        if isStopped() { return .stopped }
        if let failure = try store(group, stage: stage) { return outcome(failure) }
      }
      for rendition in misplaced where rendition.bytes <= threshold {
        if isStopped() { return .stopped }
        if let failure = try keep(rendition) { return outcome(failure) }
      }
    }
  }

  private func outcome(_ failure: FileError) -> Outcome {
    failure.code == .stopped ? .stopped : .failed(failure)
  }

  /// Makes the new places in the store durable, then names them in the ledger, then removes the old ones.
  ///
  /// - Returns: why they can't be moved now, or `nil`.
  private func store(
    _ group: [MisplacedRendition], stage: String
  ) throws(EngineError) -> FileError? {
    var moved: [(rendition: MisplacedRendition, content: IncomingRendition.Content)] = []
    for rendition in group {
      if let path = rendition.path {
        moved.append((rendition, .stored(path: path, digest: rendition.digest)))
        continue
      }
      let bytes = try engine.inLedger(try engine.ledger.bytes(ofRendition: rendition.id))
      if let bytes, SHA256.digest(of: bytes) == rendition.digest {
        moved.append((rendition, .bytes(bytes)))
      } else {
        try makeAgain(rendition)
      }
    }
    let paths: [String]
    do throws(FileError) {
      paths = try engine.renditions.put(
        moved.map { rendition, content in
          IncomingRendition(
            name: RenditionName(
              stage: stage, owner: rendition.owner, fingerprint: rendition.fingerprint,
              rendition: rendition.name, mediaType: rendition.mediaType),
            content: content)
        })
    } catch {
      return try storeAlone(group, stage: stage, after: error)
    }
    var needless: [String] = []
    for ((rendition, _), path) in zip(moved, paths) {
      let isNamed = try relocate(rendition, to: .file(path: path))
      if let old = isNamed ? rendition.path : path { needless.append(old) }
    }
    remove(needless)
    return nil
  }

  /// Finds out which of a group can't be moved, and has those made again that are missing or damaged.
  private func storeAlone(
    _ group: [MisplacedRendition], stage: String, after error: FileError
  ) throws(EngineError) -> FileError? {
    guard isOfBytes(error) else { return error }
    guard group.count == 1, let path = group.first?.path else {
      if group.count < 2 { return error }
      for rendition in group {
        if let failure = try store([rendition], stage: stage) { return failure }
      }
      return nil
    }
    // What is wrong may be where it should go.
    do throws(FileError) {
      let digest = try engine.renditions.open(path).hash().digest
      if digest == group[0].digest { return error }
    } catch let failure {
      guard isOfBytes(failure) else { return failure }
      warn(failure)
    }
    try makeAgain(group[0])
    return nil
  }

  /// Whether an error is about the bytes of a rendition, and not about what they are on.
  private func isOfBytes(_ error: FileError) -> Bool {
    [.notFound, .notRegular, .link, .changed, .ioError].contains(error.code)
  }

  /// Moves a rendition into the database.
  ///
  /// - Returns: why it can't be moved now, or `nil`.
  private func keep(_ rendition: MisplacedRendition) throws(EngineError) -> FileError? {
    guard let path = rendition.path else { return nil }
    let bytes: [UInt8]?
    do throws(FileError) {
      bytes = try engine.renditions.bytes(of: path, rendition.digest)
    } catch {
      guard isOfBytes(error) else { return error }
      warn(error)
      bytes = nil
    }
    guard let bytes, SHA256.digest(of: bytes) == rendition.digest else {
      try makeAgain(rendition)
      return nil
    }
    if try relocate(rendition, to: .database(bytes)) { remove([path]) }
    return nil
  }

  private func warn(_ error: FileError) {
    if error.code != .notFound { engine.report.warning("\(error.message) It is made again.") }
  }

  /// Missing and damaged bytes are no error.
  private func makeAgain(_ rendition: MisplacedRendition) throws(EngineError) {
    try engine.inLedger(try engine.ledger.invalidate(rendition: rendition.id))
  }

  /// Removes what the ledger no longer names.
  private func remove(_ paths: [String]) {
    let renditions = engine.renditions
    let failures = paths.map(width: renditions.callsAtOnce) { path in
      Result { () throws(FileError) in try renditions.remove(path) }
    }.compactMap { result in if case .failure(let error) = result { error } else { nil } }
    guard let first = failures.first else { return }
    // `verify` reports what is left.
    engine.report.warning(
      "\(first.message) \(failures.count) of the renditions that were moved are in their old place as well, until "
        + "`pipeline gc` removes them there.")
  }

  /// - Returns: `false` if the rendition was replaced in the meantime.
  private func relocate(
    _ rendition: MisplacedRendition, to content: RenditionContent
  ) throws(EngineError) -> Bool {
    do throws(CatalogError) {
      try engine.ledger.relocate(rendition.id, to: content)
      return true
    } catch {
      if error.code == .staleToken { return false }
      throw EngineError(ledger: error)
    }
  }
}
