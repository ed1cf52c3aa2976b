import Hashing
import LibrarySession
import PipelineModel

/// Who may use the server: whoever knows the token, if there is one.
struct ClientAccess: Sendable {
  /// The name of the cookie that stands for the token.
  static let cookieName = "pipeline"

  /// What the hash of a token must be.
  private let expected: Digest?
  /// The value of the cookie: who sees it can't tell the token.
  private let session: String

  init(token: String?) {
    expected = token.map { SHA256.digest(of: Array($0.utf8)) }
    session = token.map { SHA256.digest(of: Array("pipeline session \($0)".utf8)).hex } ?? ""
  }

  /// Whether a client has to know a token.
  var isRestricted: Bool { expected != nil }

  /// Whether a request shows that its client knows the token.
  func allows(authorization: String?, cookie: String?) -> Bool {
    guard isRestricted else { return true }
    if let authorization {
      let words = authorization.split(separator: " ", maxSplits: 1)
      if words.count == 2, words[0].lowercased() == "bearer", isToken(String(words[1])) {
        return true
      }
    }
    return (cookie ?? "").split(separator: ";").contains { part in
      let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
      return pair.count == 2 && pair[0] == Self.cookieName
        && Self.areEqual(Array(pair[1].utf8), Array(session.utf8))
    }
  }

  /// Whether this is the token.
  func isToken(_ text: String) -> Bool {
    guard let expected, text.utf8.count <= 4096 else { return false }
    // Hashes have one length, so that the time tells nothing of the token's.
    return Self.areEqual(SHA256.digest(of: Array(text.utf8)).bytes, expected.bytes)
  }

  /// The header that gives a browser the cookie. Source: RFC 6265.
  ///
  /// - Parameters:
  ///   - path: the path that the browser knows the server by.
  ///   - isSecure: whether the browser may send it by TLS only.
  func cookie(path: String, isSecure: Bool) -> Header {
    let month = 30 * 86_400
    return Header(
      "Set-Cookie",
      "\(Self.cookieName)=\(session); Path=\(path); Max-Age=\(month); HttpOnly; SameSite=Strict"
        + (isSecure ? "; Secure" : ""))
  }

  /// Compares in a time that depends on the lengths only.
  static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
