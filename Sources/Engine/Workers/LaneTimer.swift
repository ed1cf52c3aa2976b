import Dispatch
import Synchronization

/// Ticks on a queue while something is to be watched.
final class LaneTimer: Sendable {
  private final class Source: @unchecked Sendable {
    // @unchecked because Dispatch documents its sources as safe to use from any thread.
    let value: any DispatchSourceTimer
    init(_ value: any DispatchSourceTimer) { self.value = value }
    deinit { value.cancel() }
  }

  private let queue: DispatchQueue
  private let interval: DispatchTimeInterval
  private let source = Mutex<Source?>(nil)

  init(queue: DispatchQueue, milliseconds: Int) {
    self.queue = queue
    interval = .milliseconds(milliseconds)
  }

  /// Ticks from now on; nothing if it does so already.
  func start(_ body: @escaping @Sendable () -> Void) {
    if source.withLock({ $0 != nil }) { return }
    let timer = Source(DispatchSource.makeTimerSource(queue: queue))
    timer.value.schedule(deadline: .now() + interval, repeating: interval)
    timer.value.setEventHandler(handler: body)
    timer.value.resume()
    source.withLock { $0 = timer }
  }

  /// Ticks no more.
  func stop() { source.withLock { $0 = nil } }
}
