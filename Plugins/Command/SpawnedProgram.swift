import Glibc
import PipelineModel
import Spawn

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

  /// Starts a program in a folder; it gets none of this process's environment.
  init(
    _ path: String, _ arguments: [String], in folder: String, outputLimit: Int
  ) throws(SpawnError) {
    output = try OutputPipe(limit: outputLimit, keeping: .beginning)
    errors = try OutputPipe(limit: 4 << 10, keeping: .end)
    let environment = [
      "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=\(folder)", "TMPDIR=\(folder)", "LANG=C.UTF-8",
    ]
    id = try Program.start(
      BytePath(path), arguments: ([path] + arguments).map { BytePath($0) },
      environment: environment.map { BytePath($0) },
      descriptors: [nil, output.writing, errors.writing], folder: BytePath(folder))
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

/// A pipe that a program writes to; keeps a bounded part of the output.
///
/// Reads and discards everything beyond the bound, so that the program never blocks.
final class OutputPipe {
  /// The end of the output to keep.
  enum Kept { case beginning, end }

  private(set) var bytes: [UInt8] = []
  /// Whether there was more output than is kept.
  private(set) var isCut = false
  private let limit: Int
  private let kept: Kept
  /// The reading end; -1 once closed.
  private(set) var reading: Int32 = -1
  /// The program's end; -1 once closed.
  private(set) var writing: Int32 = -1

  init(limit: Int, keeping kept: Kept) throws(SpawnError) {
    (self.limit, self.kept) = (limit, kept)
    (reading, writing) = try Program.makePipe()
    // Reads must not block, so that a job can be cancelled while nobody writes.
    let flags = fcntl(reading, F_GETFL)
    guard flags >= 0, fcntl(reading, F_SETFL, flags | O_NONBLOCK) == 0 else {
      throw SpawnError("prepare a pipe", errno)
    }
  }

  deinit {
    closeWriting()
    closeReading()
  }

  /// Closes the end that only the program should have.
  func closeWriting() {
    if writing >= 0 { close(writing) }
    writing = -1
  }

  private func closeReading() {
    if reading >= 0 { close(reading) }
    reading = -1
  }

  /// Reads what is available, up to a mebibyte so that nothing else waits long.
  func drain() {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    for _ in 0..<16 where reading >= 0 {
      let count = read(reading, &buffer, buffer.count)
      let number = errno
      if count > 0 {
        keep(buffer[..<count])
      } else if count == 0 || ![EINTR, EAGAIN].contains(number) {
        closeReading()
      } else if number == EAGAIN {
        return
      }
    }
  }

  private func keep(_ more: ArraySlice<UInt8>) {
    bytes += more
    guard bytes.count > limit else { return }
    isCut = true
    switch kept {
    case .beginning: bytes.removeLast(bytes.count - limit)
    case .end: bytes.removeFirst(bytes.count - limit)
    }
  }
}
