import Files
import PipelineModel

/// A request to a server.
struct HTTPRequest {
  enum Body {
    case none
    case bytes([UInt8])
    /// A part of a file, or all of it.
    case file(Descriptor, offset: Int, count: Int)

    var count: Int {
      switch self {
      case .none: 0
      case .bytes(let bytes): bytes.count
      case .file(_, _, let count): count
      }
    }
  }

  var method: String
  var url: String
  var headers: [(name: String, value: String)] = []
  var body = Body.none
  var patience = Patience()
  /// Whether libcurl must not send it a second time by itself, as it does where a connection that was used before ends
  /// without an answer.
  var isSentOnce = false

  /// When a connection counts as lost.
  struct Patience {
    /// How long the answer may take to begin after the request was sent.
    var answer = Duration.seconds(60)
    /// How long less than a kilobyte a second may come or go while a body is on its way.
    var flow = Duration.seconds(30)
  }
}

/// A server's answer.
struct HTTPResponse {
  var status: Int
  /// By name in lower case.
  var headers: [String: String] = [:]
  /// The body, unless it went elsewhere.
  var body: [UInt8] = []

  var isSuccess: Bool { (200..<300).contains(status) }
}
