import Catalog
import Configuration
import PipelineModel
import Records

/// Checks the database of a catalog in PostgreSQL: that it answers, and keeps what it has acknowledged.
struct DatabaseCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    guard let address = site.configuration?.catalog?.database else { return [] }
    do throws(CatalogError) {
      return [finding(try CatalogServer(address))]
    } catch {
      return [
        Finding(
          "database", .failed, error.message,
          advice: "Without its database, nothing is done with the library, and nothing is read.")
      ]
    }
  }

  private func finding(_ server: CatalogServer) -> Finding {
    let unsafe = server.unsafeSettings
    guard unsafe.isEmpty else {
      return Finding(
        "database", .failed,
        "The server has \(unsafe.joined(separator: ", ")), and may lose what it has acknowledged.",
        advice: "Set them to “on”: files are removed from their sources once the database has them."
      )
    }
    guard !server.isReadOnly else {
      return Finding(
        "database", .warning, "The server is a standby or read-only: the library can only be read.",
        advice: "Name the server that is written to.")
    }
    return Finding(
      "database", .ok,
      "PostgreSQL \(server.version) answers in \(server.roundTrip.rounded), and flushes each commit."
    )
  }
}
