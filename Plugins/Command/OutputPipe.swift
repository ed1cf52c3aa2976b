import CSpawn
import Glibc

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
    var ends: [Int32] = [-1, -1]
    guard pipeline_pipe(&ends, O_CLOEXEC) == 0 else { throw SpawnError("make a pipe", errno) }
    (reading, writing) = (ends[0], ends[1])
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
