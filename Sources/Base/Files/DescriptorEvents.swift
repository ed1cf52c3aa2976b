import CLinux
package import Dispatch
import Glibc
import PipelineModel
import Synchronization

/// Reports on Dispatch queues when descriptors become readable or writable. Source: epoll(7).
///
/// Not Dispatch sources: on Linux, their manager thread may still hold an event of a source that
/// another thread cancels, and then reads freed memory. A program whose workers come and go crashes
/// of it now and then. Source: github.com/swiftlang/swift-corelibs-libdispatch/issues/949. Here an
/// event names its entry by a number that is never reused, so a late event finds nothing.
package final class DescriptorEvents: Sendable {
  /// Returns whether to keep reporting.
  package typealias Body = @Sendable () -> Bool

  /// The argument of `forget`.
  package struct Registration: Sendable {
    fileprivate let name: UInt64
  }

  private struct Entry {
    // Kept open while the kernel watches it.
    let descriptor: Descriptor
    let events: UInt32
    let queue: DispatchQueue
    let body: Body
  }

  private struct State {
    var last: UInt64 = 0
    var entries: [UInt64: Entry] = [:]
  }

  /// The instance of this process.
  package static let shared = DescriptorEvents()

  /// Negative if the system has no descriptor or thread left for it.
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
      // No thread would wait for events, so descriptors are polled one by one.
      Glibc.close(made)
      epoll = -1
    }
  }

  /// Reports when the descriptor has data or is at its end.
  ///
  /// - Parameter body: called on `queue`, never concurrently.
  @discardableResult
  package func read(
    _ descriptor: Descriptor, on queue: DispatchQueue, _ body: @escaping Body
  ) -> Registration {
    add(
      Entry(
        descriptor: descriptor, events: UInt32(pipeline_epoll_read), queue: queue,
        body: body))
  }

  /// Reports when the descriptor accepts data or has no reader left.
  ///
  /// - Parameter body: called on `queue`, never concurrently.
  @discardableResult
  package func write(
    _ descriptor: Descriptor, on queue: DispatchQueue, _ body: @escaping Body
  ) -> Registration {
    add(
      Entry(
        descriptor: descriptor, events: UInt32(pipeline_epoll_write), queue: queue,
        body: body))
  }

  /// Stops reporting, except a report already under way; releases the descriptor.
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

  /// Polls a descriptor that epoll can't watch.
  private func ask(_ entry: Entry, _ name: UInt64) {
    entry.queue.asyncAfter(deadline: .now() + .milliseconds(10)) { [self] in
      guard isKnown(name) else { return }
      let events = entry.events == UInt32(pipeline_epoll_read) ? POLLIN : POLLOUT
      var descriptor = pollfd(fd: entry.descriptor.number, events: Int16(events), revents: 0)
      if poll(&descriptor, 1, 0) == 0 { ask(entry, name) } else { tell(entry, name) }
    }
  }

  private func isKnown(_ name: UInt64) -> Bool { state.withLock { $0.entries[name] != nil } }

  /// Waits for events and reports them.
  // Not inlined: objects made inside an endless loop are never released. Source:
  // github.com/swiftlang/swift/pull/86644.
  @inline(never)
  private func deliver() {
    var names = [UInt64](repeating: 0, count: 64)
    let count = names.withUnsafeMutableBufferPointer {
      pipeline_epoll_wait(epoll, $0.baseAddress, Int32($0.count))
    }
    guard count > 0 else {
      // A signal may end the wait. Other errors should not occur, and must not become a busy loop.
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
      // A descriptor forgotten meanwhile is no longer watched; that is not a failure.
      let isWatched = control(Int32(pipeline_epoll_change), entry, name)
      if !isWatched, isKnown(name) { ask(entry, name) }
    }
  }
}
