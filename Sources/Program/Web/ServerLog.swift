import Files
import Glibc
import PipelineModel
import Synchronization

/// What the server says on standard error: at most a line a second, as strangers may cause many.
final class ServerLog: Sendable {
  private let next = Mutex(ContinuousClock.now)

  static let shared = ServerLog()

  /// The most characters of a line.
  private static let longest = 1000

  func write(_ text: String) {
    let now = ContinuousClock.now
    let isDue = next.withLock { next in
      guard now >= next else { return false }
      next = now + .seconds(1)
      return true
    }
    guard isDue else { return }
    let line = Array(
      "pipeline serve: \(BytePath(String(text.prefix(Self.longest))).printable)\n".utf8)
    // Nothing else can be told of an error here.
    _ = Glibc.write(STDERR_FILENO, line, line.count)
  }
}
