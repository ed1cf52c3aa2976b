import Configuration
import Dispatch
import PipelineModel
import PipelinePlugin
import Synchronization

/// Asks a job to give up once its time is over.
///
/// A library in this process can only be asked, not ended.
struct Timeout: Sendable {
  private let limit: TimeSpan?
  private let work: Task?
  private let isOver: Flag

  /// Whether the time was over before the job.
  private final class Flag: Sendable {
    let value = Atomic(false)
  }

  /// A scheduled block; `DispatchWorkItem` itself is not marked as safe to share.
  private final class Task: @unchecked Sendable {
    // @unchecked because Dispatch documents work items as safe to cancel from any thread.
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

  /// The job has ended: the time is not waited for any more.
  func cancel() { work?.item.cancel() }

  /// What a failure is to be called that came after the time was over.
  var failure: PluginFailure? {
    guard let limit, isOver.value.load(ordering: .relaxed) else { return nil }
    return PluginFailure(
      .transient,
      "It was given up: it may take \(limit) at most." + StageLimits.remedy(.time))
  }
}
