import Catalog
import Configuration
import Engine
package import Ingest
import PipelinePlugin
import Records

/// `plan` and `run --dry-run`: what a run would do, without locking or changing anything.
package struct PreviewSession {
  private let search: ConfigurationSearch
  private let setup: LibrarySetup
  private let plan: StagePlan

  /// Checks the configuration, plugins and their options like `run`.
  package init(_ search: ConfigurationSearch) throws {
    self.search = search
    setup = try LibrarySetup(search)
    plan = try setup.plan()
  }

  /// Reports stages that can't run, calls `body` with every path that a run would act upon, and
  /// estimates the run.
  package func run(output: any SessionOutput, _ body: (PreviewedPath) -> Void) throws -> Forecast {
    for stage in plan.stages {
      guard let fault = stage.fault else { continue }
      output.held(stage: stage.name, plugin: stage.configuration.plugin, reason: fault.reason)
    }
    // `run` would make a library that does not exist yet.
    let reading = try ReadingSession.ifPresent(search)
    let preview = Preview(library: reading?.library, catalog: reading?.catalog)
    var files = 0
    var bytes = 0
    for source in setup.configuration.sources {
      try preview.look(at: source) { path in
        if path.action == .take {
          files += 1
          bytes += path.bytes
        }
        body(path)
      }
    }
    return try Forecast(plan, files: files, bytes: bytes, catalog: reading?.catalog)
  }
}

/// An estimate of what a run would cost, based on the history of its stages.
package struct Forecast: Sendable {
  /// The number of files to be imported.
  package let files: Int
  /// The bytes of these files.
  package let bytes: Int
  /// Jobs of all stages that can run.
  package private(set) var jobs = 0
  /// Seconds until all jobs are done; `nil` if a stage has no history.
  package private(set) var seconds: Double? = 0
  /// Bytes of renditions; `nil` if a stage has no history.
  package private(set) var renditionBytes: Int? = 0

  /// - Parameter catalog: the recorded history; `nil` if there is no library yet.
  init(_ plan: StagePlan, files: Int, bytes: Int, catalog: CatalogReader?) throws(CatalogError) {
    self.files = files
    self.bytes = bytes
    var work: Double? = 0
    var longest = 0.0
    let held = plan.held
    for stage in plan.stages where !held.contains(stage.name) {
      let forecast = try catalog?.forecast(stage.definition) ?? StageForecast(due: 0)
      let count = forecast.due + files
      guard count > 0 else { continue }
      jobs += count
      renditionBytes = Self.sum(renditionBytes, forecast.bytes.map { Int($0 * Double(count)) })
      let seconds = forecast.seconds.map { $0 * Double(count) }
      work = Self.sum(work, seconds)
      longest = max(longest, (seconds ?? 0) / Double(stage.configuration.concurrency))
    }
    // Concurrency is limited by the processors overall and by `concurrency` in each stage.
    seconds = work.map { max($0 / Double(Machine.processors), longest) }
  }

  private static func sum<Value: AdditiveArithmetic>(_ one: Value?, _ other: Value?) -> Value? {
    guard let one, let other else { return nil }
    return one + other
  }
}
