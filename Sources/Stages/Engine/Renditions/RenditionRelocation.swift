import Configuration
import Files
import Hashing
import PipelineModel
package import Records
import Renditions

/// Moves renditions between database and files after a stage's `storage` changed, without decoding
/// anything again.
///
/// Works on the caller's thread, before the engine's first pass.
package struct RenditionRelocation {
  private let engine: Engine
  private let plan: StagePlan

  package init(engine: Engine, plan: StagePlan) {
    self.engine = engine
    self.plan = plan
  }

  /// Moves misplaced renditions of stages whose policy changed.
  ///
  /// Unreadable bytes are scheduled to be made again. If writing fails or the run is stopped, the
  /// rest of the stage is moved next time and served from its current place until then.
  ///
  /// - Parameters:
  ///   - settings: stores the policies last applied.
  ///   - isStopped: whether to leave the rest; called before each rendition.
  package func run(settings: any CatalogSettings, isStopped: () -> Bool) throws(EngineError) {
    for stage in plan.stages {
      let key = "stage.storage.\(stage.name)"
      let policy = stage.configuration.storage
      let threshold = policy.mostInDatabase(of: engine.ledger)
      let wanted = "\(policy.rawValue) \(threshold)"
      let last = try engine.inLedger(try settings.setting(key))
      if last == wanted { continue }
      switch try move(stage.name, threshold: threshold, isStopped: isStopped) {
      case .done: break
      case .stopped: return
      case .failed(let failure):
        engine.report.warning(
          "\(failure.message) The renditions of the stage \(stage.name) that are not where "
            + "“storage” wants them stay where they are until the next run.")
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
        try engine.ledger.misplacedRenditions(stage: stage, threshold: threshold, limit: 64))
      if misplaced.isEmpty { return .done }
      for rendition in misplaced {
        if isStopped() { return .stopped }
        if let failure = try move(rendition, stage: stage) { return .failed(failure) }
      }
    }
  }

  /// Makes the new place durable, then names it in the ledger, then removes the old one.
  ///
  /// - Returns: why the rendition can't be moved now, or `nil`.
  private func move(
    _ rendition: MisplacedRendition, stage: String
  ) throws(EngineError) -> FileError? {
    let bytes =
      if let path = rendition.path {
        read(path)
      } else {
        try engine.inLedger(try engine.ledger.bytes(ofRendition: rendition.id))
      }
    // Missing and damaged bytes are no error: they are made again.
    guard let bytes, SHA256.digest(of: bytes) == rendition.digest else {
      try engine.inLedger(try engine.ledger.invalidate(rendition: rendition.id))
      return nil
    }
    if let path = rendition.path {
      if try relocate(rendition, to: .database(bytes)) { remove(path) }
      return nil
    }
    let name = RenditionName(
      stage: stage, owner: rendition.owner, fingerprint: rendition.fingerprint,
      rendition: rendition.name, mediaType: rendition.mediaType)
    let paths: [String]
    do throws(FileError) {
      paths = try engine.renditions.put([IncomingRendition(name: name, content: .bytes(bytes))])
    } catch {
      return error
    }
    for path in paths where try !relocate(rendition, to: .file(path: path)) { remove(path) }
    return nil
  }

  private func read(_ path: String) -> [UInt8]? {
    do throws(FileError) {
      return try engine.renditions.bytes(of: path)
    } catch {
      if error.code != .notFound { engine.report.warning("\(error.message) It is made again.") }
      return nil
    }
  }

  /// Removes a file that the ledger no longer names.
  private func remove(_ path: String) {
    do throws(FileError) {
      try engine.renditions.remove(path)
    } catch {
      // `verify` reports what is left, and `gc` removes it.
      engine.report.warning(error.message)
    }
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
