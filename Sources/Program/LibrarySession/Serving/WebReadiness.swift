import Files
import Glibc
import PipelineModel

/// The first line that the process answers: it is ready, or why it is not.
package struct WebReadiness: Codable, Sendable {
  package var error: String?

  package init(error: String? = nil) { self.error = error }

  /// How long the process may take to be ready.
  private static let patience = Duration.seconds(10)

  /// Waits until the process at the other end of a channel is ready.
  ///
  /// - Parameter limit: how long; by default 10 s.
  /// - Throws: `ServingError` if it is not.
  static func wait(on channel: Descriptor, for limit: Duration = patience) throws {
    // Byte by byte: what comes behind the line is for others.
    let reader = LineReader(channel, limit: 1 << 16, chunk: 1)
    let line: [UInt8]?
    do throws(FileError) {
      line = try reader.next(by: .now + limit)
    } catch {
      guard error.errno == ETIMEDOUT else { throw WebSession.ended }
      let seconds = Int((limit / .seconds(1)).rounded(.up))
      throw ServingError(
        .server,
        "The process that answers requests was not ready within \(seconds) s, so it was ended. "
          + "Try again when the machine has less to do.")
    }
    guard let line else { throw WebSession.ended }
    if let error = try JSONText.decode(WebReadiness.self, from: line).error {
      throw ServingError(.server, error)
    }
  }
}
