import Catalog
import PipelineModel
import PipelinePlugin

/// A job whose plugin has answered, on its way into the ledger.
struct FinishedJob: Sendable {
  enum Result: Sendable {
    case done(facts: JSONValue, renditions: [CollectedRendition])
    case skipped(reason: String)
    case failed(PluginFailure)
  }

  let job: ClaimedJob
  let stage: Int
  let result: Result
  let seconds: Double
}
