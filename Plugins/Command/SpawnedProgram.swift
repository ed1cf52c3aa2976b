import CSpawn
import Glibc

/// A program that is started without a shell.
///
/// It stays in this process's group, so that killing the group kills it, too.
final class SpawnedProgram {
  enum ExitStatus: Equatable {
    case exit(Int)
    case signal(Int32)
    /// Somebody else reaped the process.
    case unknown
  }

  let output: OutputPipe
  let errors: OutputPipe
  private let id: pid_t

  /// Starts a program in a folder.
  ///
  /// It gets only descriptors 0 to 2, default signal handling, and none of this process's
  /// environment.
  init(
    _ path: String, _ arguments: [String], in folder: String, outputLimit: Int
  ) throws(SpawnError) {
    output = try OutputPipe(limit: outputLimit, keeping: .beginning)
    errors = try OutputPipe(limit: 4 << 10, keeping: .end)
    let environment = [
      "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=\(folder)", "TMPDIR=\(folder)", "LANG=C.UTF-8",
    ]
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    var signals = sigset_t()
    sigfillset(&signals)
    var none = sigset_t()
    sigemptyset(&none)
    let flags = Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
    let steps = [
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
      posix_spawn_file_actions_adddup2(&actions, output.writing, STDOUT_FILENO),
      posix_spawn_file_actions_adddup2(&actions, errors.writing, STDERR_FILENO),
      pipeline_spawn_closing_from(&actions, 3),
      pipeline_spawn_in_folder(&actions, folder),
      posix_spawnattr_setsigmask(&attributes, &none),
      posix_spawnattr_setsigdefault(&attributes, &signals),
      posix_spawnattr_setflags(&attributes, flags),
    ]
    if let number = steps.first(where: { $0 != 0 }) {
      throw SpawnError("prepare the program", number)
    }
    var id: pid_t = 0
    let words = CStrings([path] + arguments)
    let variables = CStrings(environment)
    let number = withExtendedLifetime((words, variables)) {
      posix_spawn(&id, path, &actions, &attributes, words.pointers, variables.pointers)
    }
    guard number == 0 else { throw SpawnError("start the program", number) }
    self.id = id
    output.closeWriting()
    errors.closeWriting()
  }

  /// Reads the program's output until it ends.
  ///
  /// Does not wait for processes that it leaves behind, which may keep its pipes open.
  ///
  /// - Parameter isCancelled: called several times a second; `true` ends the program with SIGTERM,
  ///   and with SIGKILL after a second.
  func wait(isCancelled: () -> Bool) -> ExitStatus {
    var deadline: ContinuousClock.Instant?
    var pause: Int32 = 1
    while true {
      if let ending = ending() {
        output.drain()
        errors.drain()
        return ending
      }
      // On kernels before 6.12, the sandbox denies signals; then the host kills the whole group.
      if let end = deadline {
        if ContinuousClock.now >= end { kill(id, SIGKILL) }
      } else if isCancelled() {
        kill(id, SIGTERM)
        deadline = .now + .seconds(1)
      }
      pause = listen(for: pause) ? 1 : min(pause * 2, 50)
    }
  }

  /// Waits for output, at most this many milliseconds; returns whether there was any.
  private func listen(for milliseconds: Int32) -> Bool {
    var events = [output, errors].filter { $0.reading >= 0 }
      .map { pollfd(fd: $0.reading, events: Int16(POLLIN), revents: 0) }
    guard poll(&events, nfds_t(events.count), milliseconds) > 0 else { return false }
    output.drain()
    errors.drain()
    return true
  }

  /// Returns how it ended, or `nil` while it runs.
  private func ending() -> ExitStatus? {
    var status: Int32 = 0
    let found = waitpid(id, &status, WNOHANG)
    let number = errno
    if found == 0 || found < 0 && number == EINTR { return nil }
    guard found == id else { return .unknown }
    // The macros of wait(2): the low seven bits are the signal.
    return status & 0x7F == 0 ? .exit(Int(status >> 8 & 0xFF)) : .signal(status & 0x7F)
  }
}

/// A null-terminated list of C strings that live as long as this object.
private final class CStrings {
  private(set) var pointers: [UnsafeMutablePointer<CChar>?]

  init(_ texts: [String]) { pointers = texts.map { strdup($0) } + [nil] }

  deinit { for pointer in pointers { free(pointer) } }
}
