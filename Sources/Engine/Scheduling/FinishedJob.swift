import Catalog
import PipelineModel
import PipelinePlugin

/// A job whose plugin has answered, on its way into the ledger.
struct FinishedJob: Sendable {
  enum Result: Sendable {
    case done(facts: JSONValue, renditions: [CollectedRendition])
    case skipped(reason: String)
    case failed(PluginFailure)
    /// The program was asked to stop, so the plugin was: nothing is wrong with the job.
    case givenUp
  }

  let job: ClaimedJob
  let stage: Int
  let result: Result
  let seconds: Double
}

extension FinishedJob {
  /// What the job made; nothing unless it is done.
  var renditions: [CollectedRendition] {
    if case .done(_, let renditions) = result { renditions } else { [] }
  }
}
