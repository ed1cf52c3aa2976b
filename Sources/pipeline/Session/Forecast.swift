import Catalog
import Configuration
import Engine
import PipelineModel

/// What the jobs of a run will cost, from what such jobs have cost so far.
struct Forecast {
  /// Jobs of all stages that can run.
  private(set) var jobs = 0
  /// Seconds until all are done; `nil` where a stage has no history.
  private(set) var seconds: Double? = 0
  /// Bytes of renditions; `nil` where a stage has no history.
  private(set) var bytes: Int? = 0

  /// - Parameters:
  ///   - newFiles: files that the run will take.
  ///   - catalog: what is recorded so far; `nil` where there is no library yet.
  init(_ plan: StagePlan, newFiles: Int, catalog: CatalogReader?) throws(CatalogError) {
    var work: Double? = 0
    var longest = 0.0
    let held = plan.held
    for stage in plan.stages where !held.contains(stage.name) {
      let forecast = try catalog?.forecast(stage.definition) ?? StageForecast(due: 0)
      let count = forecast.due + newFiles
      guard count > 0 else { continue }
      jobs += count
      bytes = Self.sum(bytes, forecast.bytes.map { Int($0 * Double(count)) })
      let seconds = forecast.seconds.map { $0 * Double(count) }
      work = Self.sum(work, seconds)
      longest = max(longest, (seconds ?? 0) / Double(stage.configuration.concurrency))
    }
    // As many at once as there are processors; one stage no wider than it may be.
    seconds = work.map { max($0 / Double(Machine.processors), longest) }
  }

  private static func sum<Value: AdditiveArithmetic>(_ one: Value?, _ other: Value?) -> Value? {
    guard let one, let other else { return nil }
    return one + other
  }
}
