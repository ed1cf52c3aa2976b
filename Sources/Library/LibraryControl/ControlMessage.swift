package import Ingest
import PipelineModel
package import Records

/// The messages on the control socket, each one line of JSON.
///
/// Both ends are this program; `protocolVersion` detects different versions of it.
package enum ControlMessage {
  package static let protocolVersion = 1

  /// The only message from the verb.
  package struct Request: Codable, Sendable {
    package var protocolVersion = ControlMessage.protocolVersion
    package var version = programVersion
    package var request: LibraryRequest

    package init(request: LibraryRequest) { self.request = request }
  }

  /// A message from the holder; the last one is `result`, `failure` or `refused`.
  package enum Response: Codable, Sendable {
    /// Work on the request has begun.
    case begun
    case file(FileEvent)
    case job(JobEvent)
    case repaired(RepairEvent)
    case warning(String)
    case result(RequestResult)
    case failure(RequestFailure)
    /// The request was not begun: the holder is about to end.
    case refused
  }

  /// The longest line accepted, in bytes.
  package static let longestLine = 64 << 20

  package static func line(_ message: some Encodable) throws -> [UInt8] {
    Array((try JSONText.encode(message) + "\n").utf8)
  }
}

/// The holder's error for a request that failed.
package struct RequestFailure: Error, Codable, Sendable {
  /// The raw value is the exit code of a verb that fails so, which a holder sends to its clients.
  package enum Kind: Int32, Codable, Sendable {
    case fatal = 1
    /// The command line or the configuration is wrong.
    case usage = 2
    /// Another process holds the library.
    case locked = 11
  }

  /// The code of a transaction that is in the journal and not in the catalog; opening the library completes it.
  package static let unfinished = "unfinished"
  /// The code of a transaction that names an asset that does not exist.
  package static let noAsset = "noAsset"
  /// The code of a request that the holder does not perform.
  package static let refused = "refused"
  /// The code of a request whose holder ended before it answered.
  package static let interrupted = "interrupted"

  package let code: String
  package let message: String
  package let kind: Kind

  package init(code: String, message: String, kind: Kind) {
    self.code = code
    self.message = message
    self.kind = kind
  }

  private enum CodingKeys: String, CodingKey {
    case code, message
    case kind = "exitCode"
  }
}
