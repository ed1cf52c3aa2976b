import Configuration
import PipelineModel
import PipelinePlugin
import Synchronization

/// A plugin called in this process: it can be cancelled but not killed.
final class InProcessInstance: PluginInstance {
  private let instance: LibraryInstance
  /// A second instance, which answers estimates while the first one works.
  private let estimator: Mutex<LibraryInstance>
  private let limit: TimeSpan?

  init(instance: LibraryInstance, estimator: LibraryInstance, limit: TimeSpan?) {
    self.instance = instance
    self.estimator = Mutex(estimator)
    self.limit = limit
  }

  func estimate(
    facts: [[String: JSONValue]], completion: @escaping @Sendable ([Int?]) -> Void
  ) {
    completion(estimator.withLock { estimator in facts.map { estimator.estimate(facts: $0) } })
  }

  func process(
    _ request: PluginRequest, job: JobControl,
    completion: @escaping @Sendable (PluginResult) -> Void
  ) {
    let timeout = Timeout(limit, control: job)
    let result = instance.answer(to: request, job)
    timeout.cancel()
    if case .failed = result, let failure = timeout.failure {
      return completion(.failed(failure))
    }
    completion(result)
  }
}
