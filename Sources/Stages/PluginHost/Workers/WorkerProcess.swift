import Dispatch
import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Sandbox
import Synchronization

/// A running worker: its messages, its log and its end.
///
/// Everything happens on one serial queue; nothing here blocks.
final class WorkerProcess: Sendable {
  enum Event: Sendable {
    case message(PluginMessage)
    /// A line of standard error.
    case log(String)
    /// Output that is not a message; worded to follow “returned an answer”.
    case malformed(String)
    /// Its standard output was closed; its end may follow.
    case closed
    /// The worker and its whole group are gone; the last event. The kernel may have killed it for
    /// exceeding its control group's memory limit.
    case ended(ChildProcess.ExitStatus, ranOutOfMemory: Bool)
  }

  private struct State {
    var outgoing: [UInt8] = []
    var output = LineBuffer()
    var log = LineBuffer()
    /// Whether a write source is waiting for room.
    var isWriting = false
    /// `nil` once there is nothing more to send.
    var input: Descriptor?
    /// Whether the end was reported; no event follows it.
    var hasEnded = false
  }

  private let child: ChildProcess
  private let group: ControlGroup?
  private let limits: WorkerLimits
  private let mayFork: Bool
  private let forks: ForkCount
  /// How many threads the kernel had refused at the last look.
  private let refusedThreads = Atomic(0)
  private let meter: Mutex<ProcessGroupMeter>
  private let hiddenMemory = Mutex(HiddenMemory())
  private let queue: DispatchQueue
  private let output: Descriptor
  private let error: Descriptor
  private let handler: @Sendable (Event) -> Void
  private let state: Mutex<State>

  /// The longest log line that is kept, in bytes.
  private static let longestLogLine = 4096

  /// Starts a worker.
  ///
  /// - Parameters:
  ///   - limits: its limits on threads and processes.
  ///   - program: the program that has the verb `worker`.
  ///   - group: the control group it joins; removed after its end.
  ///   - queue: the serial queue on which `handler` is called.
  init(
    _ launch: WorkerLaunch, limits: WorkerLimits, program: BytePath, group: ControlGroup?,
    queue: DispatchQueue, handler: @escaping @Sendable (Event) -> Void
  ) throws(FileError) {
    let name: BytePath = "a worker's pipe"
    let (input, output, error) = (try PipeEnds(name), try PipeEnds(name), try PipeEnds(name))
    for end in [input.writing, output.reading, error.reading] { try end.setNonBlocking() }
    try Watchdog.begin()
    try ForkGuard.shared.begin()
    let (questions, workerEnd) = try Self.questions()
    var launch = launch
    launch.policy.asksBeforeForking = true
    guard let text = try? JSONText.encode(launch) else {
      throw FileError(.other, "A worker's launch can't be encoded.", path: nil)
    }
    // Divide the group, if possible, before any worker is in it.
    _ = WorkerControlGroups.shared
    let environment = launch.environment.map { BytePath($0) }
    child = try Spawner.shared.start { () throws(FileError) in
      try ChildProcess.start(
        program, arguments: ["pipeline", "worker", BytePath(text)], environment: environment,
        descriptors: [input.reading, output.writing, error.writing, workerEnd])
    }
    forks = ForkCount(child.id, limits, questions)
    ForkGuard.shared.add(forks)
    self.group = group
    self.limits = limits
    mayFork = launch.policy.processes
    meter = Mutex(ProcessGroupMeter(group: child.id))
    self.queue = queue
    self.output = output.reading
    self.error = error.reading
    self.handler = handler
    state = Mutex(State(input: input.writing))
  }

  private static func questions() throws(FileError) -> (ForkRequests, workerEnd: Descriptor) {
    do throws(SandboxError) {
      return try ForkRequests.make()
    } catch {
      throw FileError(.other, error.message, path: nil)
    }
  }

  /// Starts delivering events.
  func begin() {
    DescriptorEvents.shared.read(output, on: queue) { [weak self] in self?.readOutput() ?? false }
    DescriptorEvents.shared.read(error, on: queue) { [weak self] in self?.readLog() ?? false }
    // Not weak: a worker must be reaped even if nobody refers to it.
    DescriptorEvents.shared.read(child.watched, on: queue) { [self] in !end() }
  }

  /// Its process id, which is also its process group.
  var id: Int32 { child.id }

  /// A message as it is sent; `nil` if it is too long or can't be encoded.
  static func line(_ message: HostMessage) -> [UInt8]? {
    guard let text = try? JSONText.encode(message), text.utf8.count < HostMessage.longestLine
    else { return nil }
    return Array(text.utf8) + [UInt8(ascii: "\n")]
  }

  /// Sends a message, unless it has no `line`.
  func send(_ message: HostMessage) {
    if let line = Self.line(message) { send(line) }
  }

  /// Sends a line; writes at once whatever fits.
  func send(_ line: [UInt8]) {
    let mustWait = state.withLock { state in
      state.outgoing += line
      return state.isWriting
    }
    if !mustWait, write() { writeLater() }
  }

  /// Lets an idle worker end by itself.
  func closeInput() {
    state.withLock { state in
      state.input = nil
      state.outgoing = []
    }
  }

  /// Sends a signal to the worker and everything it started.
  func signal(_ number: Int32) { child.signalGroup(number) }

  /// The current resource use of its processes, and their processor time since the start; `nil` if
  /// there are none. Called on any thread.
  ///
  /// - Parameter countsRefused: whether refused threads and processes count as one above the limit.
  func usage(countsRefused: Bool = true) -> ProcessUsage? {
    guard var usage = usageNow() else { return nil }
    usage.hidesMemory = hiddenMemory.withLock { $0.note(isHidden: usage.hidesMemory) }
    return countsRefused ? addingRefused(to: usage) : usage
  }

  /// Raises threads or processes above the limit if any were refused since the last call.
  private func addingRefused(to usage: ProcessUsage) -> ProcessUsage {
    var usage = usage
    var refused = forks.consumeRefusals()
    // The kernel also counts threads that are ending, so it may refuse one first.
    if let count = group?.refusedThreads,
      count != refusedThreads.exchange(count, ordering: .relaxed)
    {
      refused.threads = true
    }
    if refused.threads { usage.threads = max(usage.threads, limits.threads + 1) }
    if refused.processes { usage.processes = max(usage.processes, limits.processes + 1) }
    return usage
  }

  /// Which limit made threads or processes be refused since the last call or the last look at its
  /// usage; `nil` if none were.
  func refusal() -> PluginFailure? { limits.verdict(on: addingRefused(to: ProcessUsage())) }

  private func usageNow() -> ProcessUsage? {
    guard mayFork else { return ProcessUsage.of(process: child.id) }
    // It can't reap orphans of its group that have ended.
    _ = child.reap()
    let usage = meter.withLock { $0.look(reapedSeconds: child.reapedSeconds) }
    return usage.processes > 0 ? usage : nil
  }

  /// The bytes of deleted files on a folder's file system that it keeps open.
  func unlinkedBytes(besides folder: WorkerFolder) throws(FileError) -> Int {
    let processes = mayFork ? ProcessStat.all(inGroup: child.id).map(\.id) : [child.id]
    return UnlinkedFiles(of: processes, on: try folder.device()).bytes
  }

  /// Writes as much as fits.
  ///
  /// - Returns: whether something is left.
  private func write() -> Bool {
    state.withLock { state in
      do throws(FileError) {
        while let input = state.input, !state.outgoing.isEmpty {
          let count = try input.writeSome(state.outgoing[...])
          if count == 0 { return true }
          state.outgoing.removeFirst(count)
        }
      } catch {
        // Nobody reads any more; its end is about to be reported.
        state.outgoing = []
      }
      state.isWriting = false
      return false
    }
  }

  private func writeLater() {
    let input = state.withLock { state in
      state.isWriting = true
      return state.input
    }
    guard let input else { return }
    DescriptorEvents.shared.write(input, on: queue) { [weak self] in self?.write() ?? false }
  }

  private func readOutput() -> Bool {
    if state.withLock({ $0.hasEnded }) { return false }
    let result = readLines(from: output, \.output)
    for line in result.lines { tell(line) }
    if result.isAtEnd { handler(.closed) }
    guard result.isOverlong else { return !result.isAtEnd }
    // Stop reading: the pipe fills, but no memory here does.
    handler(.malformed("longer than \(ByteSize(bytes: PluginMessage.longestLine))"))
    return false
  }

  private func tell(_ line: [UInt8]) {
    do throws(MessageError) {
      handler(.message(try PluginMessage(line: line)))
    } catch {
      let start = quoted(String(decoding: line.prefix(80), as: UTF8.self))
      handler(.malformed("that can't be decoded: \(start): \(error.message)"))
    }
  }

  private func readLog() -> Bool {
    if state.withLock({ $0.hasEnded }) { return false }
    let result = readLines(from: error, \.log)
    var lines = result.lines
    state.withLock { state in
      // An endless line is reported in pieces.
      if state.log.count > Self.longestLogLine { lines.append(state.log.consumeRest()) }
    }
    for line in lines { tellLog(line) }
    return !result.isAtEnd
  }

  private func tellLog(_ line: [UInt8]) {
    let text = String(decoding: line.prefix(Self.longestLogLine), as: UTF8.self)
    if !text.isEmpty { handler(.log(text)) }
  }

  /// The data of one read.
  private struct ReadResult {
    var bytes = 0
    var lines: [[UInt8]] = []
    var isOverlong = false
    var isAtEnd = false
  }

  /// Reads a bounded amount and splits it into lines.
  private func readLines(
    from descriptor: Descriptor, _ buffer: any WritableKeyPath<State, LineBuffer> & Sendable
  ) -> ReadResult {
    withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { bytes in
      // The only error known on an open pipe is that it is empty now.
      let count = (try? descriptor.readSome(into: bytes)) ?? nil
      guard let count, count > 0 else { return ReadResult(isAtEnd: count == 0) }
      return state.withLock { state in
        state[keyPath: buffer].add(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        var result = ReadResult(bytes: count)
        while let line = state[keyPath: buffer].next() { result.lines.append(line) }
        result.isOverlong = state[keyPath: buffer].count > PluginMessage.longestLine
        return result
      }
    }
  }

  /// Reports the end of the process, once it has ended.
  private func end() -> Bool {
    guard let ending = child.reap() else {
      // Killing what it left behind takes a moment.
      if child.hasEnded { usleep(2000) }
      return false
    }
    // Drain the pipes: its group is gone, so no more output can follow.
    var rounds = 0
    while rounds < 1024, readMore() { rounds += 1 }
    let ranOutOfMemory = group?.hasRunOutOfMemory == true
    if let group { WorkerControlGroups.shared.remove(group) }
    ForkGuard.shared.remove(forks)
    let rest = state.withLock { state -> [UInt8] in
      state.input = nil
      state.hasEnded = true
      return state.log.consumeRest()
    }
    tellLog(rest)
    handler(.ended(ending, ranOutOfMemory: ranOutOfMemory))
    return true
  }

  /// Reads more; `false` if nothing is left.
  private func readMore() -> Bool {
    let said = readLines(from: output, \.output)
    for line in said.lines { tell(line) }
    let logged = readLines(from: error, \.log)
    for line in logged.lines { tellLog(line) }
    return said.bytes + logged.bytes > 0
  }
}
