package import Catalog
import Configuration
import Files
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
  /// What is left when it is stopped is moved the next time.
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
      let isDone = try move(
        stage.name, threshold: RenditionStore.threshold(of: policy), isStopped: isStopped)
      guard isDone else { return }
      try engine.inLedger { () throws(CatalogError) in try settings.set(key, to: wanted) }
    }
  }

  /// - Returns: whether nothing is left.
  private func move(
    _ stage: String, threshold: Int, isStopped: () -> Bool
  ) throws(EngineError) -> Bool {
    while true {
      let misplaced = try engine.inLedger { () throws(CatalogError) in
        try engine.ledger.misplacedRenditions(stage: stage, threshold: threshold, limit: 64)
      }
      if misplaced.isEmpty { return true }
      for rendition in misplaced {
        if isStopped() { return false }
        try move(rendition, stage: stage)
      }
    }
  }

  /// The new place is durable before the ledger names it; the old one goes after that.
  private func move(_ rendition: MisplacedRendition, stage: String) throws(EngineError) {
    do throws(FileError) {
      switch rendition.content {
      case .database(let bytes):
        let path = try engine.renditions.write(bytes, of: rendition, stage: stage)
        try relocate(rendition, to: .file(path: path))
      case .file(let path):
        try relocate(rendition, to: .database(try engine.renditions.read(path)))
        try engine.renditions.remove([path])
      }
    } catch let error where error.code == .notFound {
      // Missing bytes are no error: they are made again.
      try engine.inLedger { () throws(CatalogError) in
        try engine.ledger.invalidate(rendition: rendition.id)
      }
    } catch {
      throw EngineError(.file, error.message, path: error.path, cause: error)
    }
  }

  private func relocate(
    _ rendition: MisplacedRendition, to content: RenditionContent
  ) throws(FileError) {
    do throws(CatalogError) {
      try engine.ledger.relocate(rendition.id, to: content)
    } catch {
      throw FileError(.other, error.message, path: error.path)
    }
  }
}
