import Catalog
import Configuration
import Ingest
import LibrarySession
import PipelineModel
import Records

/// Checks the database of a catalog in PostgreSQL: that it answers, keeps what it has acknowledged, and has no other
/// catalog, and what the user may do there.
struct DatabaseCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    guard let setup = site.setup, let address = setup.configuration.catalog?.database else {
      return []
    }
    // Without a library there is nothing that the catalog could belong to.
    let library =
      (try? LibraryFolder.open(setup.layout))?.marker.library
      ?? (try? Workplace.library(of: setup.layout))
    do throws(CatalogError) {
      let server = try CatalogServer(address, libraryID: library)
      let problems = problems(of: server)
      guard problems.isEmpty else { return problems }
      return [
        Finding(
          "database", .ok,
          "PostgreSQL \(server.version) answers in \(server.roundTrip.rounded), and flushes each commit."
        )
      ]
    } catch {
      return [
        Finding(
          "database", .failed, error.message,
          advice: "Without its database, nothing is done with the library, and nothing is read.")
      ]
    }
  }

  private func problems(of server: CatalogServer) -> [Finding] {
    var findings: [Finding] = []
    if !server.unsafeSettings.isEmpty {
      findings.append(
        Finding(
          "database", .failed,
          "The server has \(server.unsafeSettings.joined(separator: ", ")), and may lose what it has "
            + "acknowledged.", advice: "Set what is “off” to “on”."))
    }
    if let refusal = server.refusal {
      findings.append(
        Finding(
          "database", .failed, refusal.message,
          advice: "Until then nothing is done with the library, and nothing is read."))
    }
    if server.isReadOnly {
      findings.append(
        Finding(
          "database", .warning,
          "The server is a standby or read-only: the library can only be read.",
          advice:
            "Name the server that is written to, or set default_transaction_read_only to “off”."
        ))
    }
    if !server.missingRights.isEmpty {
      findings.append(
        Finding(
          "database", .warning,
          "This user lacks \(server.missingRights.joined(separator: ", ")): the library can only be "
            + "read.", advice: "Let the owner of the database grant it."))
    }
    return findings
  }
}
