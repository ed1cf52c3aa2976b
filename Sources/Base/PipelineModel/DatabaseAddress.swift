/// Where a database of PostgreSQL is: a URI as libpq takes it, without a password.
///
/// Source: PostgreSQL's documentation, 34.1.1.2 “Connection URIs”.
package struct DatabaseAddress: Hashable, Sendable, CustomStringConvertible {
  package let uri: String

  /// Why a text is no address.
  package enum Problem: Error, Hashable, Sendable {
    /// It does not begin with `postgresql://` or `postgres://`.
    case scheme
    /// It has a password, which belongs elsewhere.
    case password
    /// It has a character that no URI has.
    case character
  }

  private static let schemes = ["postgresql://", "postgres://"]

  /// Whether a text is meant as an address, rather than as a path.
  package static func isMeant(by text: String) -> Bool { schemes.contains { text.hasPrefix($0) } }

  package init(_ text: String) throws(Problem) {
    guard let scheme = Self.schemes.first(where: { text.hasPrefix($0) }) else { throw .scheme }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw .character }
    let rest = text.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    if let at = authority.lastIndex(of: "@"), authority[..<at].contains(":") { throw .password }
    let query = rest.drop { $0 != "?" }.dropFirst()
    let keys = query.split(separator: "&").map { $0.prefix { $0 != "=" } }
    // A key may be written with percent signs; none of libpq's needs any.
    guard !keys.contains(where: { $0 == "password" || $0 == "sslpassword" || $0.contains("%") })
    else { throw .password }
    uri = text
  }

  package var description: String { uri }
}
