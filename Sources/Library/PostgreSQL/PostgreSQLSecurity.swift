import Glibc

/// How a connection is protected where its address says nothing: by default, libpq takes a server of any name, and
/// no encryption if that server wants none.
enum PostgreSQLSecurity {
  /// Authorities that the system trusts, where its package `ca-certificates` has them.
  private static let authorities = "/etc/ssl/certs/ca-certificates.crt"

  /// The parameters to add before the address: none if all hosts are on this machine, or something chose a mode.
  ///
  /// - Parameter value: returns a parameter as libpq has it, by its name.
  static func parameters(_ value: (String) -> String?) -> [(String, String)] {
    guard value("sslmode") == "prefer" else { return [] }
    let host = [value("host"), value("hostaddr")].compactMap(\.self).joined(separator: ",")
    guard !host.split(separator: ",").allSatisfy({ isLocal($0) }) else { return [] }
    var added = [("sslmode", "verify-full")]
    if value("sslrootcert")?.isEmpty ?? true, !hasOwnAuthorities {
      added.append(("sslrootcert", authorities))
    }
    return added
  }

  /// Whether a host is a folder of a socket, or this machine.
  static func isLocal(_ host: some StringProtocol) -> Bool {
    host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
      || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
  }

  /// Whether there is the file that libpq looks for. Source: PostgreSQL's documentation, 34.19.1.
  private static var hasOwnAuthorities: Bool {
    guard let home = getenv("HOME") else { return false }
    return access("\(String(cString: home))/.postgresql/root.crt", R_OK) == 0
  }
}
