import Configuration
import Dispatch
import PipelineModel
import PipelinePlugin
import Synchronization

/// Cancels a job when its time limit is exceeded.
///
/// A library in this process can be asked to stop, but not killed.
struct Timeout: Sendable {
  private let limit: TimeSpan?
  private let work: Task?
  private let isOver: Flag

  /// Whether the time limit passed before the job ended.
  private final class Flag: Sendable {
    let value = Atomic(false)
  }

  /// A scheduled block; `DispatchWorkItem` itself is not `Sendable`.
  private final class Task: @unchecked Sendable {
    // @unchecked because Dispatch documents that any thread may cancel a work item.
    let item: DispatchWorkItem
    init(_ item: DispatchWorkItem) { self.item = item }
  }

  init(_ limit: TimeSpan?, control: JobControl) {
    self.limit = limit
    let isOver = Flag()
    self.isOver = isOver
    guard let limit else {
      work = nil
      return
    }
    let item = DispatchWorkItem {
      isOver.value.store(true, ordering: .relaxed)
      control.cancel()
    }
    work = Task(item)
    DispatchQueue.global(qos: .utility).asyncAfter(
      deadline: .now() + .milliseconds(limit.milliseconds), execute: item)
  }

  /// Stops the timer because the job has ended.
  func cancel() { work?.item.cancel() }

  /// The failure to report if the job failed after its time limit passed.
  var failure: PluginFailure? {
    guard let limit, isOver.value.load(ordering: .relaxed) else { return nil }
    return PluginFailure(
      .transient,
      "It was given up: it may take \(limit) at most." + StageLimits.remedy(.time))
  }
}
