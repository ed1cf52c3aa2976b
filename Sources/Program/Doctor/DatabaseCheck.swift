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
    do throws(CatalogError) {
      // Without a library there is nothing that the catalog could belong to.
      let server = try CatalogServer(address, libraryID: site.knownLibrary)
      var problems = problems(of: server, site)
      if setup.configuration.node.joins || site.isWorkplace { problems += joined(setup) }
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
          advice: site.isWorkplace
            ? "Without the database, no job is done here."
            : "Without its database, nothing is done with the library, and nothing is read.")
      ]
    }
  }

  /// The finding for a machine that joins a library without a catalog.
  private func joined(_ setup: LibrarySetup) -> [Finding] {
    do throws(CatalogError) {
      _ = try Catalog.requireLibraryID(of: setup.layout.catalogPlace)
      return try otherPlace(setup)
    } catch {
      return [
        Finding(
          "database", .failed, error.message, advice: "Until then this machine does nothing.")
      ]
    }
  }

  /// The finding for a machine whose configuration has originals elsewhere than the library.
  private func otherPlace(_ setup: LibrarySetup) throws(CatalogError) -> [Finding] {
    let reader = try CatalogReader.open(at: setup.layout.catalogPlace, immutable: false)
    defer { try? reader.close() }
    let own = setup.configuration.originals?.name
    guard let place = try reader.setting(Workplace.originalsPlace), place != own else { return [] }
    return [
      Finding(
        "originals", .failed,
        "The library's originals are in “\(place)”, and the configuration "
          + (own.map { "has them in “\($0)”." } ?? "names no bucket."),
        advice: "Correct \"originals\". Until then this machine does nothing.")
    ]
  }

  private func problems(of server: CatalogServer, _ site: DoctorSite) -> [Finding] {
    var findings: [Finding] = []
    // Work changes records, so where nothing may be changed, none is done.
    let state: Finding.State = site.isWorkplace ? .failed : .warning
    let rest = site.isWorkplace ? "no job can be done here." : "the library can only be read."
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
          advice: site.isWorkplace
            ? "Until then no job is done here."
            : "Until then nothing is done with the library, and nothing is read."))
    }
    if server.isReadOnly {
      findings.append(
        Finding(
          "database", state, "The server is a standby or read-only: \(rest)",
          advice:
            "Name the server that is written to, or set default_transaction_read_only to “off”."
        ))
    }
    if let old = server.oldTransaction {
      findings.append(
        Finding(
          "database", .warning,
          "A transaction of “\(old.program.printable)”, user \(old.user.printable), has been open for "
            + "\(old.age.components.seconds / 60) min: until it ends, the server keeps each former version of each row, "
            + "and becomes slower and slower.",
          advice:
            "Have that program end it, or end the server's process \(old.process) by pg_terminate_backend."
        ))
    }
    if !server.missingRights.isEmpty {
      findings.append(
        Finding(
          "database", state,
          "This user lacks \(server.missingRights.joined(separator: ", ")): \(rest)",
          advice: "Let the owner of the database grant it."))
    }
    return findings
  }
}
