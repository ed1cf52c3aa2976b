import Engine
import Ingest
import PipelineModel

/// What goes over the control socket, one line of JSON each.
///
/// Both ends are the same program; `protocolVersion` tells when they are not.
enum ControlMessage {
  static let protocolVersion = 1

  /// From the verb, first and only.
  struct Question: Codable, Sendable {
    var protocolVersion = ControlMessage.protocolVersion
    var version = Pipeline.version
    var request: LibraryRequest
  }

  /// From the holder, any number; the last one is `result`, `failure` or `refused`.
  enum Answer: Codable, Sendable {
    /// Its turn has come.
    case begun
    case file(FileEvent)
    case job(JobEvent)
    case warning(String)
    case result(RequestResult)
    /// It failed; nothing more comes.
    case failure(HolderFailure)
    /// It was not begun: the holder is about to end.
    case refused
  }

  /// The longest line that is read, in bytes.
  static let longestLine = 64 << 20

  /// Writes a message as a line.
  static func line(_ message: some Encodable) throws -> [UInt8] {
    Array((try JSONText.encode(message) + "\n").utf8)
  }
}
