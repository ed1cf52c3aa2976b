import CSpawn
import Glibc

/// A pipe that a program writes to, read up to a bound and emptied beyond it.
///
/// What is more than the bound is read and forgotten, so that a program never waits
/// for somebody to read.
final class OutputPipe {
  /// Which end of what is written is kept.
  enum Kept { case beginning, end }

  private(set) var bytes: [UInt8] = []
  /// Whether there was more than is kept.
  private(set) var isCut = false
  private let limit: Int
  private let kept: Kept
  /// The end that is read; -1 once it is closed.
  private(set) var reading: Int32 = -1
  /// The end that the program gets; -1 once it is closed.
  private(set) var writing: Int32 = -1

  init(limit: Int, keeping kept: Kept) throws(SpawnError) {
    (self.limit, self.kept) = (limit, kept)
    var ends: [Int32] = [-1, -1]
    guard pipeline_pipe(&ends, O_CLOEXEC) == 0 else { throw SpawnError("make a pipe", errno) }
    (reading, writing) = (ends[0], ends[1])
    // A job must be able to be given up while nobody writes.
    let flags = fcntl(reading, F_GETFL)
    guard flags >= 0, fcntl(reading, F_SETFL, flags | O_NONBLOCK) == 0 else {
      throw SpawnError("prepare a pipe", errno)
    }
  }

  deinit {
    closeWriting()
    closeReading()
  }

  /// Gives up the end that only the program should have.
  func closeWriting() {
    if writing >= 0 { close(writing) }
    writing = -1
  }

  private func closeReading() {
    if reading >= 0 { close(reading) }
    reading = -1
  }

  /// Reads what is there, up to a mebibyte at a time so that nothing else waits long.
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
