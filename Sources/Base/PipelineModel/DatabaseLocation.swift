/// Where a database of PostgreSQL is: a URI as libpq takes it, without a password.
///
/// Source: PostgreSQL's documentation, 34.1.1.2 “Connection URIs”.
package struct DatabaseLocation: Hashable, Sendable, CustomStringConvertible {
  package let uri: String

  private static let schemes = ["postgresql://", "postgres://"]

  /// Whether a text is meant as a location, rather than as a path.
  package static func isMeant(by text: String) -> Bool { schemes.contains { text.hasPrefix($0) } }

  /// Reads a location.
  package init(_ text: String) throws(LocationFault) {
    guard let scheme = Self.schemes.first(where: { text.hasPrefix($0) }) else {
      throw LocationFault(
        reason: "must begin with “postgresql://”, as in “postgresql://host/database”")
    }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw LocationFault(reason: "is no URI: write other characters than ASCII's with %")
    }
    let rest = text.dropFirst(scheme.count)
    // A password may have a slash or question mark where it should have %2F or %3F, so what seems to be
    // behind the authority counts as well.
    if let at = rest.lastIndex(of: "@"), let colon = rest[..<at].firstIndex(of: ":"),
      !rest[..<colon].contains(where: { $0 == "/" || $0 == "?" })
    {
      throw Self.secret
    }
    let query = rest.drop { $0 != "?" }.dropFirst()
    let keys = query.split(separator: "&").map { $0.prefix { $0 != "=" } }
    // A key may be written with percent signs; none of libpq's needs any.
    guard !keys.contains(where: { $0 == "password" || $0 == "sslpassword" || $0.contains("%") })
    else { throw Self.secret }
    uri = text
  }

  private static let secret = LocationFault(
    reason: "must not hold a password: put it into ~/.pgpass, a file named by PGPASSFILE, or a "
      + "service file; elsewhere, write @ as %40")

  package var description: String { uri }
}
