import CPostgreSQL
import Glibc

/// libpq, loaded once per process when a database is first needed.
struct PostgreSQLLibrary: @unchecked Sendable {
  // @unchecked because functions don't change; libpq is thread-safe for different connections.
  let functions: pipeline_postgresql

  /// Debian's package.
  static let package = "libpq5"
  private static let name = "libpq.so.5"
  private static let loaded = Result { () throws(PostgreSQLError) in try load() }

  /// Returns the library.
  ///
  /// - Throws: `PostgreSQLError` of code `noLibrary`.
  static func shared() throws(PostgreSQLError) -> PostgreSQLLibrary { try loaded.get() }

  private static func load() throws(PostgreSQLError) -> PostgreSQLLibrary {
    guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
      let reason = dlerror().map { String(cString: $0) } ?? "no reason given"
      throw PostgreSQLError(
        .noLibrary,
        "A catalog in PostgreSQL needs PostgreSQL's client library. Install Debian's package "
          + "“\(package)”. (\(reason))")
    }
    var functions = pipeline_postgresql()
    if let missing = pipeline_postgresql_find(library, &functions) {
      throw PostgreSQLError(
        .noLibrary, "\(name) lacks the function \(String(cString: missing)): it is too old.")
    }
    return PostgreSQLLibrary(functions: functions)
  }
}
