import CLinux
package import Dispatch
import Glibc
import PipelineModel
import Synchronization

/// Tells on Dispatch queues when descriptors can be read or written. Source: epoll(7).
///
/// Not Dispatch's own sources: on Linux their manager thread may still hold an event of
/// a source that another thread cancels, and then reads freed memory. A program whose
/// workers come and go crashes by it now and then. Source:
/// github.com/swiftlang/swift-corelibs-libdispatch/issues/949. Here an event names its
/// entry by a number that is never used again, so that one that comes late finds nothing.
package final class DescriptorEvents: Sendable {
  /// Returns whether it is to be told again.
  package typealias Body = @Sendable () -> Bool

  /// What `forget` takes.
  package struct Registration: Sendable {
    fileprivate let name: UInt64
  }

  private struct Entry {
    // Kept open as long as the kernel is asked about it.
    let descriptor: Descriptor
    let events: UInt32
    let queue: DispatchQueue
    let body: Body
  }

  private struct State {
    var last: UInt64 = 0
    var entries: [UInt64: Entry] = [:]
  }

  /// The one of this process.
  package static let shared = DescriptorEvents()

  /// Negative where the machine gives no descriptor or thread for it.
  private let epoll: Int32
  private let state = Mutex(State())

  private init() {
    let made = pipeline_epoll_make()
    guard made >= 0 else {
      epoll = made
      return
    }
    do throws(FileError) {
      try DedicatedThread.start { while true { Self.shared.deliver() } }
      epoll = made
    } catch {
      // Nobody would wait for it: descriptors are asked one by one.
      Glibc.close(made)
      epoll = -1
    }
  }

  /// Tells when there is something to read, or the end is reached.
  ///
  /// - Parameter body: called on `queue`, never twice at a time.
  @discardableResult
  package func read(
    _ descriptor: Descriptor, on queue: DispatchQueue, _ body: @escaping Body
  ) -> Registration {
    add(
      Entry(
        descriptor: descriptor, events: UInt32(pipeline_epoll_read), queue: queue,
        body: body))
  }

  /// Tells when there is room to write, or nobody reads any more.
  ///
  /// - Parameter body: called on `queue`, never twice at a time.
  @discardableResult
  package func write(
    _ descriptor: Descriptor, on queue: DispatchQueue, _ body: @escaping Body
  ) -> Registration {
    add(
      Entry(
        descriptor: descriptor, events: UInt32(pipeline_epoll_write), queue: queue,
        body: body))
  }

  /// Tells no more, except what is being told at this moment; lets the descriptor go.
  package func forget(_ registration: Registration) {
    let entry = state.withLock { $0.entries.removeValue(forKey: registration.name) }
    if let entry { control(Int32(pipeline_epoll_remove), entry, registration.name) }
  }

  private func add(_ entry: Entry) -> Registration {
    let name = state.withLock { state in
      state.last += 1
      state.entries[state.last] = entry
      return state.last
    }
    if !control(Int32(pipeline_epoll_add), entry, name) { ask(entry, name) }
    return Registration(name: name)
  }

  @discardableResult
  private func control(_ operation: Int32, _ entry: Entry, _ name: UInt64) -> Bool {
    pipeline_epoll_control(epoll, operation, entry.descriptor.number, entry.events, name) >= 0
  }

  /// What can't be watched is asked every now and then, and so is never waited for in vain.
  private func ask(_ entry: Entry, _ name: UInt64) {
    entry.queue.asyncAfter(deadline: .now() + .milliseconds(10)) { [self] in
      guard isKnown(name) else { return }
      let events = entry.events == UInt32(pipeline_epoll_read) ? POLLIN : POLLOUT
      var descriptor = pollfd(
        fd: entry.descriptor.number, events: Int16(events), revents: 0)
      if poll(&descriptor, 1, 0) == 0 { ask(entry, name) } else { tell(entry, name) }
    }
  }

  private func isKnown(_ name: UInt64) -> Bool { state.withLock { $0.entries[name] != nil } }

  /// Waits for events and tells them.
  // Not inlined: what is made within a loop without an end is never released.
  // Source: github.com/swiftlang/swift/pull/86644.
  @inline(never)
  private func deliver() {
    var names = [UInt64](repeating: 0, count: 64)
    let count = names.withUnsafeMutableBufferPointer {
      pipeline_epoll_wait(epoll, $0.baseAddress, Int32($0.count))
    }
    guard count > 0 else {
      // A signal may end the wait. Nothing else should, and must not become a hot loop.
      if errno != EINTR { usleep(10_000) }
      return
    }
    for name in names.prefix(Int(count)) {
      if let entry = state.withLock({ $0.entries[name] }) { tell(entry, name) }
    }
  }

  private func tell(_ entry: Entry, _ name: UInt64) {
    entry.queue.async { [self] in
      guard isKnown(name) else { return }
      guard entry.body() else { return forget(Registration(name: name)) }
      // One that was forgotten meanwhile is not watched any more, which is no failure.
      let isWatched = control(Int32(pipeline_epoll_change), entry, name)
      if !isWatched, isKnown(name) { ask(entry, name) }
    }
  }
}
