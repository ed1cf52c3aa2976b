import Dispatch
import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// The inside of a worker process: serves one plugin library over the line protocol.
///
/// The library's functions run on the thread that calls `run`. Another thread reads, so that a job
/// can be cancelled while it runs, and ends the process as soon as the host is gone.
struct LibraryHost {
  private let answers: AnswerWriter
  private let inbox = HostInbox()

  /// Reserves standard output for the protocol; what the library prints goes to standard error.
  init() throws(FileError) {
    let name = BytePath("standard output")
    answers = AnswerWriter(try CurrentProcess.duplicate(STDOUT_FILENO, path: name))
    try CurrentProcess.replace(STDOUT_FILENO, by: STDERR_FILENO)
  }

  /// Serves a plugin until the host is gone.
  ///
  /// - Parameter refusal: why the library must not be loaded, as found before the sandbox was
  ///   entered.
  func run(library path: BytePath, refusal: PluginFailure?) throws(FileError) -> Never {
    let loaded = Result { () throws(PluginFailure) in
      if let refusal { throw refusal }
      return try LibraryBackend(checked: path)
    }
    try inbox.read(from: Descriptor(takingOver: STDIN_FILENO, path: "standard input"))
    var instance: LibraryInstance?
    while true { serveNext(loaded, &instance) }
  }

  // Not inlined: values created in an endless loop are never released. Source:
  // github.com/swiftlang/swift/pull/86644.
  @inline(never)
  private func serveNext(
    _ loaded: Result<LibraryBackend, PluginFailure>, _ instance: inout LibraryInstance?
  ) {
    let message = inbox.next()
    switch loaded {
    case .failure(let failure): answers.write(.failed(failure))
    case .success(let backend): serve(message, backend, &instance)
    }
    inbox.isDone()
  }

  private func serve(
    _ message: HostMessage, _ backend: LibraryBackend, _ instance: inout LibraryInstance?
  ) {
    switch message {
    case .hello:
      answers.write(.manifest(protocol: HostMessage.currentProtocol, backend.manifest))
    case .create(let options):
      do throws(PluginFailure) {
        instance = try backend.makeLibraryInstance(options: options)
        answers.write(.created)
      } catch {
        answers.write(.failed(error))
      }
    case .estimate(let facts):
      answers.write(.estimates(facts.map { instance?.estimate(facts: $0) }))
    case .process(let request):
      process(request, on: instance)
    case .cancel:
      // The reading thread has already cancelled the job.
      break
    case .unknown:
      answers.write(.unsupported)
    }
  }

  private func process(_ request: PluginRequest, on instance: LibraryInstance?) {
    guard let instance else {
      let failure = PluginFailure(.environment, "A job was sent before “create”.")
      return answers.write(.result(job: request.job, .failed(failure)))
    }
    let answers = answers
    let control = JobControl(
      log: { level, text in answers.write(.log(level, text)) },
      progress: { fraction in answers.write(.progress(fraction)) },
      limit: { seconds in answers.write(.limit(cpu: seconds)) })
    inbox.begin(request.job, control)
    answers.write(.result(job: request.job, instance.answer(to: request, control)))
  }
}

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
      // Input that can't be read can't be answered, either.
      try? readAll(input)
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

/// Writes a plugin's messages as one JSON object per line, from any thread.
final class AnswerWriter: Sendable {
  private let output: Descriptor
  /// Plugins may log from their own threads, and lines must stay whole.
  private let lock = Mutex<Void>(())

  init(_ output: Descriptor) { self.output = output }

  func write(_ message: PluginMessage) {
    // Report a failure if encoding fails; otherwise the host would wait forever.
    guard let text = try? JSONText.encode(message) else {
      if let instead = Self.answer(insteadOf: message) { write(instead) }
      return
    }
    do throws(FileError) {
      try write(Array(text.utf8) + [UInt8(ascii: "\n")])
    } catch {
      // The host is gone, so there is no work left.
      _exit(0)
    }
  }

  /// The message to send instead of one that JSON can't express, such as a NaN; `nil` if nobody
  /// waits for it.
  private static func answer(insteadOf message: PluginMessage) -> PluginMessage? {
    let failure = PluginFailure(
      .permanent, "The plugin returned an answer that can't be written as JSON.")
    switch message {
    case .result(_, .failed): return nil
    case .result(let job, _): return .result(job: job, .failed(failure))
    case .manifest: return .failed(failure)
    // Strings and integers always encode, and other numbers have been checked.
    case .created, .failed, .estimates, .unsupported, .log, .progress, .limit: return nil
    }
  }

  private func write(_ line: [UInt8]) throws(FileError) {
    let result = lock.withLock { _ in
      Result { () throws(FileError) in try output.write(line) }
    }
    try result.get()
  }
}
