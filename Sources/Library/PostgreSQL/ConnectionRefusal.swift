/// libpq's words of why there is no connection.
///
/// It has no function for the server's code, but puts it into the verbose form of a message: between the
/// severity and the text. Source: pqBuildErrorMessage3.
struct ConnectionRefusal {
  /// The last SQLSTATE, if the server gave one.
  let state: String?
  /// The text without codes, and without where in its source the server made it.
  let text: String

  /// - Parameter message: a verbose message.
  init(_ message: String) {
    var state: String?
    let lines = message.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }
    text = lines.map { line in
      line.split(separator: " ", omittingEmptySubsequences: false).filter { word in
        guard Self.isState(word) else { return true }
        state = String(word.dropLast())
        return false
      }.joined(separator: " ")
    }.joined(separator: "\n")
    self.state = state
  }

  /// Whether waiting alone won't help: the server knows no such user, password or database, or one of both has
  /// no certificate that the other takes.
  var isLasting: Bool {
    // Classes “Invalid Authorization Specification” and “Invalid Catalog Name”.
    ["28", "3D"].contains(state?.prefix(2)) || Self.securityFaults.contains { text.contains($0) }
  }

  /// What libpq says of certificates and keys, for which there are no codes. Source: fe-secure-openssl.c,
  /// fe-secure-common.c.
  private static let securityFaults = [
    "root certificate file", "certificate verify failed", "server certificate for",
    "verified SSL connection", "SSL was required", "certificate file", "private key file",
    "alert bad certificate", "alert unknown ca", "alert certificate required",
  ]

  /// Whether a word is a code with its colon. Each code has a digit, and no word such as `FATAL` has.
  private static func isState(_ word: Substring) -> Bool {
    word.utf8.count == 6 && word.last == ":" && word.contains { "0"..."9" ~= $0 }
      && word.dropLast().allSatisfy { "0"..."9" ~= $0 || "A"..."Z" ~= $0 }
  }
}
