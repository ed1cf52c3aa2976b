import Catalog
import PipelineModel
import PipelinePlugin

/// A job whose plugin has answered, not yet recorded in the ledger.
struct FinishedJob: Sendable {
  enum Result: Sendable {
    case done(facts: JSONValue, renditions: [CollectedRendition])
    case skipped(reason: String)
    case failed(PluginFailure)
    /// Cancelled because the program is ending; the job is not at fault.
    case givenUp
  }

  let job: ClaimedJob
  let stage: Int
  let result: Result
  let seconds: Double
}

extension FinishedJob {
  /// The job's renditions; empty unless it is done.
  var renditions: [CollectedRendition] {
    if case .done(_, let renditions) = result { renditions } else { [] }
  }
}
