import Engine
import Ingest
import PipelineModel

/// The messages on the control socket, each one line of JSON.
///
/// Both ends are this program; `protocolVersion` detects different versions of it.
enum ControlMessage {
  static let protocolVersion = 1

  /// The only message from the verb.
  struct Request: Codable, Sendable {
    var protocolVersion = ControlMessage.protocolVersion
    var version = Pipeline.version
    var request: LibraryRequest
  }

  /// A message from the holder; the last one is `result`, `failure` or `refused`.
  enum Response: Codable, Sendable {
    /// Work on the request has begun.
    case begun
    case file(FileEvent)
    case job(JobEvent)
    case warning(String)
    case result(RequestResult)
    case failure(RequestFailure)
    /// The request was not begun: the holder is about to end.
    case refused
  }

  /// The longest line accepted, in bytes.
  static let longestLine = 64 << 20

  static func line(_ message: some Encodable) throws -> [UInt8] {
    Array((try JSONText.encode(message) + "\n").utf8)
  }
}
