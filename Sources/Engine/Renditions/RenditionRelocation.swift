package import Catalog
import Configuration
import Files
import Hashing
import PipelineModel

/// Moves renditions between database and files after a change of a stage's
/// `storage`; nothing is decoded again.
package struct RenditionRelocation {
  private let engine: Engine
  private let plan: StagePlan

  package init(engine: Engine, plan: StagePlan) {
    self.engine = engine
    self.plan = plan
  }

  /// Moves what lies elsewhere than its policy wants, if a policy changed.
  ///
  /// Bytes that can't be read are made again. Where they can't be written, the rest of their stage
  /// is moved the next time, as is what is left when it is stopped; they are served from where they
  /// are until then.
  ///
  /// - Parameters:
  ///   - settings: remembers the policies of the last time.
  ///   - isStopped: whether to leave the rest; asked before each rendition.
  package func run(settings: Catalog, isStopped: () -> Bool) throws(EngineError) {
    for stage in plan.stages {
      let key = "stage.storage.\(stage.name)"
      let policy = stage.configuration.storage
      let wanted = "\(policy.rawValue) \(RenditionStore.threshold(of: policy))"
      let last = try engine.inLedger { () throws(CatalogError) in try settings.setting(key) }
      if last == wanted { continue }
      let threshold = RenditionStore.threshold(of: policy)
      switch try move(stage.name, threshold: threshold, isStopped: isStopped) {
      case .done: break
      case .stopped: return
      case .failed(let failure):
        engine.report.warning(
          "\(failure.message) The renditions of the stage \(stage.name) that are not where "
            + "“storage” wants them stay where they are until the next run.")
        continue
      }
      try engine.inLedger { () throws(CatalogError) in try settings.set(key, to: wanted) }
    }
  }

  /// How the renditions of a stage were moved.
  private enum Ending {
    case done, stopped
    /// Some can't be moved now.
    case failed(FileError)
  }

  private func move(
    _ stage: String, threshold: Int, isStopped: () -> Bool
  ) throws(EngineError) -> Ending {
    while true {
      let misplaced = try engine.inLedger { () throws(CatalogError) in
        try engine.ledger.misplacedRenditions(stage: stage, threshold: threshold, limit: 64)
      }
      if misplaced.isEmpty { return .done }
      for rendition in misplaced {
        if isStopped() { return .stopped }
        if let failure = try move(rendition, stage: stage) { return .failed(failure) }
      }
    }
  }

  /// The new place is durable before the ledger names it; the old one goes after that.
  ///
  /// - Returns: why it can't be moved now, or `nil`.
  private func move(
    _ rendition: MisplacedRendition, stage: String
  ) throws(EngineError) -> FileError? {
    switch rendition.content {
    case .database(let bytes):
      let path: String
      do throws(FileError) {
        path = try engine.renditions.write(bytes, of: rendition, stage: stage)
      } catch {
        return error
      }
      if try !relocate(rendition, to: .file(path: path)) { remove(path) }
    case .file(let path):
      // Missing and damaged bytes are no error: they are made again.
      guard let bytes = read(path), SHA256.digest(of: bytes) == rendition.digest else {
        try engine.inLedger { () throws(CatalogError) in
          try engine.ledger.invalidate(rendition: rendition.id)
        }
        return nil
      }
      if try relocate(rendition, to: .database(bytes)) { remove(path) }
    }
    return nil
  }

  private func read(_ path: String) -> [UInt8]? {
    do throws(FileError) {
      return try engine.renditions.read(path)
    } catch {
      if error.code != .notFound { engine.report.warning("\(error.message) It is made again.") }
      return nil
    }
  }

  /// Removes the place that is not named any more.
  private func remove(_ path: String) {
    do throws(FileError) {
      try engine.renditions.remove(path)
    } catch {
      // `verify` names what is left behind, and `gc` removes it.
      engine.report.warning(error.message)
    }
  }

  /// - Returns: `false` if the rendition was replaced meanwhile.
  private func relocate(
    _ rendition: MisplacedRendition, to content: RenditionContent
  ) throws(EngineError) -> Bool {
    try engine.inLedger { () throws(CatalogError) in
      do throws(CatalogError) {
        try engine.ledger.relocate(rendition.id, to: content)
        return true
      } catch let error where error.code == .staleToken {
        return false
      }
    }
  }
}
