import Dispatch
import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// The messages that wait in a worker, filled by a thread of its own.
///
/// That thread does at once what can't wait: it tells the job under way to be
/// given up, and ends the process when the program at the other end is gone.
final class HostInbox: Sendable {
  private struct State {
    var messages: [HostMessage] = []
    var job: (name: String, control: JobControl)?
    /// Jobs that are to be given up and have not begun yet.
    var cancelled: Set<String> = []

    mutating func next() -> HostMessage? {
      // A job comes before what cancels it: where none waits, what is left came too late.
      let hasJob = messages.contains { if case .process = $0 { true } else { false } }
      if !hasJob { cancelled = [] }
      return messages.isEmpty ? nil : messages.removeFirst()
    }
  }

  private let state = Mutex(State())
  private let filled = DispatchSemaphore(value: 0)

  /// Begins to read, on a thread of its own.
  func read(from input: Descriptor) throws(FileError) {
    try DedicatedThread.start { [self] in
      do throws(FileError) {
        try readAll(input)
      } catch {
        // What can't be read won't be answered, either.
      }
      // In the middle of a job, too: nobody is left to take its result.
      _exit(0)
    }
  }

  /// Waits for the next message.
  func next() -> HostMessage {
    while true {
      if let message = state.withLock({ $0.next() }) { return message }
      filled.wait()
    }
  }

  /// A job has begun.
  func begin(_ job: String, _ control: JobControl) {
    let isCancelled = state.withLock { state in
      state.job = (job, control)
      return state.cancelled.remove(job) != nil
    }
    if isCancelled { control.cancel() }
  }

  /// The last message was answered.
  func isDone() { state.withLock { $0.job = nil } }

  private func readAll(_ input: Descriptor) throws(FileError) {
    var lines = LineBuffer()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { buffer.deallocate() }
    while true {
      let count = try input.read(into: buffer)
      if count == 0 { return }
      lines.add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      while let line = lines.next() { take(line) }
      if lines.count > HostMessage.longestLine { return }
    }
  }

  private func take(_ line: [UInt8]) {
    // What can't be decoded is answered as what is not known.
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
