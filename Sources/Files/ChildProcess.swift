import CLinux
import Glibc
package import PipelineModel
import Synchronization

/// A program that this process started, at the head of a process group of its own.
///
/// As long as it is not reaped, its number belongs to nobody else, so that a
/// signal can't reach a stranger.
package final class ChildProcess: Sendable {
  /// How a process ended. Source: wait(2).
  package enum Ending: Hashable, Sendable {
    /// It returned this code.
    case exit(Int32)
    /// This signal ended it.
    case signal(Int32)
  }

  /// What a program is started with.
  package struct Start: Sendable {
    /// The absolute path of the program.
    package var program: BytePath
    /// All its arguments, its name first.
    package var arguments: [BytePath]
    /// Its whole environment, as `NAME=value`.
    package var environment: [BytePath]
    /// Its standard input, output and error.
    package var streams: (input: Descriptor, output: Descriptor, error: Descriptor)
    /// What it gets as its descriptor 3; `nil` for nothing.
    package var extra: Descriptor?

    /// Makes it from its parts.
    package init(
      program: BytePath, arguments: [BytePath], environment: [BytePath],
      streams: (input: Descriptor, output: Descriptor, error: Descriptor),
      extra: Descriptor? = nil
    ) {
      self.program = program
      self.arguments = arguments
      self.environment = environment
      self.streams = streams
      self.extra = extra
    }
  }

  private struct State {
    var ending: Ending?
    var endedAt: ContinuousClock.Instant?
    /// Whether nobody of the group is left.
    var isGroupGone = false
    var reapedSeconds = 0.0
  }

  /// Its number, and that of its group.
  package let id: Int32
  /// Readable once it has ended. Source: pidfd_open(2).
  package let watched: Descriptor
  private let state = Mutex(State())

  /// All that were started and are not gone.
  private static let living = Mutex<[Int32: ChildProcess]>([:])
  /// How long the kernel may take to end a process that SIGKILL was sent to.
  private static let patience = Duration.seconds(5)

  private init(id: Int32, watched: Descriptor) {
    self.id = id
    self.watched = watched
  }

  /// Starts a program. Source: posix_spawn(3).
  ///
  /// Where it asks to be ended with its parent, the kernel goes by the *thread*
  /// that called this, which therefore has to live as long as the process.
  package static func start(_ start: Start) throws(FileError) -> ChildProcess {
    // What a process leaves behind that ends becomes this program's child, to be waited for.
    OwnProcess.adoptOrphans()
    let id = try spawn(start)
    do throws(FileError) {
      let number = try systemCall("watch", start.program) { pipeline_open_process(id) }
      let child = ChildProcess(
        id: id, watched: Descriptor(takingOver: number, path: start.program))
      living.withLock { $0[id] = child }
      return child
    } catch {
      // What can't be watched can't be ended in time: it is ended now.
      kill(-id, SIGKILL)
      waitpid(id, nil, 0)
      throw error
    }
  }

  /// Ends all that were started, with their groups; for a program that ends itself at once.
  package static func endAll() {
    for child in living.withLock({ Array($0.values) }) { child.signalGroup(SIGKILL) }
  }

  /// Sends a signal to the process and all of its group; nothing once it is reaped.
  package func signalGroup(_ number: Int32) {
    state.withLock { state in
      if state.ending == nil { kill(-id, number) }
    }
  }

  /// Seconds on processors of those that the process left behind and that have ended.
  package var reapedSeconds: Double { state.withLock { $0.reapedSeconds } }

  /// Waits for whoever of the group has ended; once the process itself has, ends the others.
  ///
  /// Returns at once.
  ///
  /// - Returns: how the process ended; `nil` as long as it or another of the group is left.
  package func reap() -> Ending? {
    let ending = state.withLock { state -> Ending? in
      if state.isGroupGone { return state.ending }
      if state.ending == nil { reapHead(&state) }
      guard state.ending != nil, let endedAt = state.endedAt else { return nil }
      // As long as this finds somebody, the group's number belongs to nobody else.
      while let found = wait(-id, &state) {
        if found == 0, ContinuousClock().now - endedAt < Self.patience { return nil }
        if found == 0 { break }
      }
      state.isGroupGone = true
      return state.ending
    }
    if ending != nil {
      Self.living.withLock { if $0[id] === self { $0[id] = nil } }
    }
    return ending
  }

  /// Whether the process itself has ended.
  package var hasEnded: Bool { state.withLock { $0.ending != nil } }

  private func reapHead(_ state: inout State) {
    while true {
      // Looked at first: the process itself is waited for last.
      let process = pipeline_ended_of_group(id)
      if process <= 0 { return }
      if process == id { break }
      _ = wait(process, &state)
    }
    // Sent as long as the number is taken. Who is about to fork does not get to it: the kernel
    // has the signal come first. Source: kernel/fork.c, “recalc_sigpending” in copy_process.
    kill(-id, SIGKILL)
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    let number = status & 0x7F
    state.ending = number == 0 ? .exit(status >> 8 & 0xFF) : .signal(number)
    state.endedAt = ContinuousClock().now
  }

  /// Waits for a process, or for one of a group, without waiting.
  ///
  /// - Returns: its number; 0 if none has ended, `nil` if there is none.
  private func wait(_ process: Int32, _ state: inout State) -> Int32? {
    var usage = rusage()
    let found = wait4(process, nil, WNOHANG, &usage)
    guard found >= 0 else { return nil }
    if found > 0 {
      for time in [usage.ru_utime, usage.ru_stime] {
        state.reapedSeconds += Double(time.tv_sec) + Double(time.tv_usec) / 1e6
      }
    }
    return found
  }

  private static func spawn(_ start: Start) throws(FileError) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let streams =
      [start.streams.input, start.streams.output, start.streams.error]
      + [start.extra].compactMap(\.self)
    for (place, stream) in streams.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, stream.number, Int32(place))
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setpgroup(&attributes, 0)
    // What this program ignores or blocks is its own affair.
    var signals = sigset_t()
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
    posix_spawnattr_setflags(&attributes, Int16(flags))
    var id: Int32 = 0
    let code = withCStrings(start.arguments) { arguments in
      withCStrings(start.environment) { environment in
        start.program.withCString {
          posix_spawn(&id, $0, &actions, &attributes, arguments, environment)
        }
      }
    }
    guard code == 0 else { throw FileError("start", start.program, errno: code) }
    return id
  }

  /// Calls `body` with texts as C has them: an array of pointers, `nil` at its end.
  private static func withCStrings<Result>(
    _ texts: [BytePath], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { text in
      text.withCString { strdup($0) }
    }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    return body(&pointers)
  }
}
