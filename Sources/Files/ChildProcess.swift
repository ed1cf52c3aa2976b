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

    /// Makes it from its parts.
    package init(
      program: BytePath, arguments: [BytePath], environment: [BytePath],
      streams: (input: Descriptor, output: Descriptor, error: Descriptor)
    ) {
      self.program = program
      self.arguments = arguments
      self.environment = environment
      self.streams = streams
    }
  }

  /// Its number, and that of its group.
  package let id: Int32
  /// Readable once it has ended. Source: pidfd_open(2).
  package let watched: Descriptor
  private let ending = Mutex<Ending?>(nil)

  private init(id: Int32, watched: Descriptor) {
    self.id = id
    self.watched = watched
  }

  /// Starts a program. Source: posix_spawn(3).
  ///
  /// Where it asks to be ended with its parent, the kernel goes by the *thread*
  /// that called this, which therefore has to live as long as the process.
  package static func start(_ start: Start) throws(FileError) -> ChildProcess {
    let id = try spawn(start)
    do throws(FileError) {
      let number = try systemCall("watch", start.program) { pipeline_open_process(id) }
      return ChildProcess(id: id, watched: Descriptor(takingOver: number, path: start.program))
    } catch {
      // What can't be watched can't be ended in time: it is ended now.
      kill(-id, SIGKILL)
      waitpid(id, nil, 0)
      throw error
    }
  }

  /// Sends a signal to the process and all of its group; nothing once it is reaped.
  package func signalGroup(_ number: Int32) {
    ending.withLock { ending in
      if ending == nil { kill(-id, number) }
    }
  }

  /// Ends what is left of the group, and takes note of how the process ended.
  ///
  /// - Returns: `nil` as long as it has not ended.
  package func reap() -> Ending? {
    ending.withLock { ending in
      if let ending { return ending }
      var state = siginfo_t()
      // Looked at first and reaped last: until then the group's number is taken.
      guard waitid(P_PID, id_t(id), &state, WEXITED | WNOHANG | WNOWAIT) == 0, state.si_signo != 0
      else { return nil }
      kill(-id, SIGKILL)
      var status: Int32 = 0
      while waitpid(id, &status, 0) < 0, errno == EINTR {}
      let number = status & 0x7F
      ending = number == 0 ? .exit(status >> 8 & 0xFF) : .signal(number)
      return ending
    }
  }

  private static func spawn(_ start: Start) throws(FileError) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let streams = [start.streams.input, start.streams.output, start.streams.error]
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
