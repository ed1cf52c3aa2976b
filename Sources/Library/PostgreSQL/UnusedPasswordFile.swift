import CPostgreSQL
import Glibc
import PipelineModel

/// A file of passwords that libpq does not use, as others than its user may read it, or as it is no file.
///
/// libpq says so on the standard error, with each try to connect, so it is kept from looking there.
/// Source: passwordFromFile.
struct UnusedPasswordFile {
  /// What is there, and what helps, as a sentence.
  let advice: String

  /// What libpq is told instead: below a device there is nothing, which it accepts in silence.
  static let parameter = ("passfile", "/dev/null/.pgpass")

  /// Looks at the file that libpq would look at; `nil` if that can be used, or is not there.
  ///
  /// One that only a service file names, which only the address names, is left to libpq.
  init?(_ address: DatabaseLocation, _ library: PostgreSQLLibrary) {
    guard let path = Self.path(address, library) else { return nil }
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    let name = "The file of passwords “\(path)” is not used"
    if status.st_mode & S_IFMT != S_IFREG {
      advice = "\(name): it is no plain file."
    } else if status.st_mode & 0o077 != 0 {
      advice =
        "\(name), because others may read or change it: chmod 600 \(BytePath(path).shellWord)"
    } else {
      return nil
    }
  }

  /// The file that the address, the environment or a service file names, or the one in the home folder.
  private static func path(_ address: DatabaseLocation, _ library: PostgreSQLLibrary) -> String? {
    let functions = library.functions
    let named = [functions.PQconninfoParse(address.uri, nil), functions.PQconndefaults()].lazy
      .compactMap { options -> String? in
        defer { functions.PQconninfoFree(options) }
        return PostgreSQLConnection.parameter(parameter.0, of: options)
      }.first { !$0.isEmpty }
    return named ?? getenv("HOME").map { String(cString: $0) + "/.pgpass" }
  }
}
