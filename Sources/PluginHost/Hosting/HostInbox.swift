import Dispatch
import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// A worker's queue of incoming messages, filled by a thread of its own.
///
/// That thread handles urgent events itself: it cancels the running job, and ends the process when
/// the host is gone.
final class HostInbox: Sendable {
  private struct State {
    var messages: [HostMessage] = []
    var job: (name: String, control: JobControl)?
    /// Jobs that were cancelled before they started.
    var cancelled: Set<String> = []

    mutating func next() -> HostMessage? {
      // A job precedes its cancellation, so without a waiting job all of these came too late.
      let hasJob = messages.contains { if case .process = $0 { true } else { false } }
      if !hasJob { cancelled = [] }
      return messages.isEmpty ? nil : messages.removeFirst()
    }
  }

  private let state = Mutex(State())
  private let filled = DispatchSemaphore(value: 0)

  func read(from input: Descriptor) throws(FileError) {
    try DedicatedThread.start { [self] in
      do throws(FileError) {
        try readAll(input)
      } catch {
        // Input that can't be read can't be answered, either.
      }
      // Even during a job: nobody is left to receive its result.
      _exit(0)
    }
  }

  func next() -> HostMessage {
    while true {
      if let message = state.withLock({ $0.next() }) { return message }
      filled.wait()
    }
  }

  func begin(_ job: String, _ control: JobControl) {
    let isCancelled = state.withLock { state in
      state.job = (job, control)
      return state.cancelled.remove(job) != nil
    }
    if isCancelled { control.cancel() }
  }

  func isDone() { state.withLock { $0.job = nil } }

  private func readAll(_ input: Descriptor) throws(FileError) {
    var lines = LineBuffer()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { buffer.deallocate() }
    while true {
      let count = try input.read(into: buffer)
      if count == 0 { return }
      lines.add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      while let line = lines.next() { receive(line) }
      if lines.count > HostMessage.longestLine { return }
    }
  }

  private func receive(_ line: [UInt8]) {
    // Undecodable lines are answered like unknown messages.
    let message = (try? JSONText.decode(HostMessage.self, from: line)) ?? .unknown("")
    guard case .cancel(let job) = message else {
      state.withLock { $0.messages.append(message) }
      filled.signal()
      return
    }
    let control = state.withLock { state in
      if state.job?.name != job { state.cancelled.insert(job) }
      return state.job?.name == job ? state.job?.control : nil
    }
    control?.cancel()
  }
}
