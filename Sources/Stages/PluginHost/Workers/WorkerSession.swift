import Dispatch
package import Files
import Glibc
package import PipelineModel
package import PipelinePlugin
import Synchronization

/// A worker driven one message at a time, for checking a plugin.
///
/// Unlike an instance, it does not judge what the plugin sends.
package final class WorkerSession: Sendable {
  /// An event from a worker.
  package enum Event: Sendable {
    case message(PluginMessage)
    /// A line of standard error.
    case log(String)
    /// A line of standard output that is not a message; worded to follow “returned an answer”.
    case malformed(String)
    /// The worker is gone; worded to follow “ended”. The last event.
    case ended(String)
  }

  /// The folder that the worker reads from.
  package var input: BytePath { folder.inputPath }
  /// The folder that the worker writes to.
  package var output: BytePath { folder.outputPath }

  private let folder: WorkerFolder
  private let worker: WorkerProcess
  private let events: EventQueue
  private let timer = WatchdogTimer(.processes)

  /// Starts a worker in a new folder.
  ///
  /// - Parameters:
  ///   - program: the plugin, and what it may do.
  ///   - name: the new folder's name.
  ///   - work: the parent of the new folder.
  package init(
    _ program: WorkerProgram, named name: BytePath, in work: BytePath
  ) throws(FileError) {
    let folder = try WorkerFolder(name, in: work)
    let events = EventQueue()
    let limits = WorkerLimits(
      program.limits, allowance: program.allowance, memoryShare: ByteSize(bytes: 4 << 30))
    let worker = try program.start(
      in: folder, limits: limits, isGrouped: false, queue: DispatchQueue(label: "pipeline.session")
    ) { events.add($0) }
    self.worker = worker
    self.folder = folder
    self.events = events
    timer.start(after: Watchdog.interval) {
      if let failure = worker.usage().flatMap(limits.verdict) {
        events.add(.log(failure.reason))
        worker.signal(SIGKILL)
      }
      return Watchdog.interval
    }
    worker.begin()
  }

  /// The folder that a session of this name will read from.
  package static func input(named name: BytePath, in work: BytePath) -> BytePath {
    work.appending(name).appending("in")
  }

  /// Sends a message.
  package func send(_ message: HostMessage) { worker.send(message) }

  /// Waits for the next event; `nil` if there is none within this time.
  package func next(within time: TimeSpan) -> Event? { events.next(within: time) }

  /// Copies a file into the worker's folder.
  ///
  /// - Returns: the path to send to the worker.
  package func place(_ file: BytePath, as name: BytePath) throws(FileError) -> BytePath {
    try folder.place(file, as: name, mayLink: false)
  }

  /// Removes the contents of both of its folders.
  package func empty() throws(FileError) { try folder.empty() }

  /// Closes the worker's standard input.
  package func closeInput() { worker.closeInput() }

  /// Ends the worker if it still runs, and removes its folder.
  package func end() throws(FileError) {
    timer.stop()
    worker.signal(SIGKILL)
    while let event = next(within: TimeSpan(milliseconds: 10_000)) {
      if case .ended = event { break }
    }
    try folder.remove()
  }
}

/// Events that have not been read yet.
private final class EventQueue: Sendable {
  private struct State {
    var events: [WorkerSession.Event] = []
    var hasEnded = false
  }

  /// The number of waiting events beyond which log and progress messages are dropped.
  private static let mostWaiting = 1000

  private let state = Mutex(State())
  private let arrived = TimedSemaphore()

  func add(_ event: WorkerProcess.Event) {
    let event: WorkerSession.Event? =
      switch event {
      case .message(let message): .message(message)
      case .log(let line): .log(line)
      case .malformed(let what): .malformed(what)
      case .closed: nil
      case .ended(let ending, _): .ended(WorkerProgram.words(ending))
      }
    guard let event else { return }
    let isKept = state.withLock { state in
      if state.events.count > Self.mostWaiting, event.isChatter { return false }
      state.events.append(event)
      return true
    }
    if isKept { arrived.signal() }
  }

  func next(within time: TimeSpan) -> WorkerSession.Event? {
    // Nothing follows the end.
    if state.withLock({ $0.hasEnded }) { return nil }
    guard arrived.wait(for: time.duration) else { return nil }
    return state.withLock { state in
      let event = state.events.removeFirst()
      if case .ended = event { state.hasEnded = true }
      return event
    }
  }
}

extension WorkerSession.Event {
  /// Whether nothing depends on it.
  fileprivate var isChatter: Bool {
    switch self {
    case .log, .message(.log), .message(.progress), .message(.limit): true
    case .message, .malformed, .ended: false
    }
  }
}
