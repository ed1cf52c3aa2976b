import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Too many missing files", .timeLimit(.minutes(2)))
struct MissingFilesTests {
  /// A copied source with files that are known.
  private func fixture(_ count: Int) throws -> IngestFixture {
    let fixture = try IngestFixture(.copy)
    for index in 0..<count { try fixture.write("file \(index)", to: BytePath("\(index)")) }
    try fixture.run()
    return fixture
  }

  private func importAll(_ fixture: IngestFixture, into report: any IngestReport) throws
    -> [IngestError]
  {
    try Ingest(into: fixture.library(), report: report, isStopped: { false }).importSources([
      fixture.source
    ])
  }

  @Test("Twenty may always be missing; of more, the share decides")
  func limit() {
    func isExceeded(_ count: Int, of known: Int, _ allowed: Double, renames: Int = 3) -> Bool {
      var share = MissingFiles(allowed: allowed, renames: 3)
      for index in 0..<count { share.add(BytePath("\(index)")) }
      return share.isExceeded(of: known, renames: renames)
    }
    #expect(!isExceeded(20, of: 20, 0))
    #expect(isExceeded(21, of: 1000, 0))
    #expect(!isExceeded(50, of: 100, 0.5) && isExceeded(51, of: 100, 0.5))
    #expect(!isExceeded(100, of: 100, 1))
    #expect(!isExceeded(60, of: 100, 0.5, renames: 13))
  }

  @Test("Paths are kept up to a bound, and counted beyond it")
  func bound() {
    var share = MissingFiles(allowed: 1, renames: 0)
    for index in 0..<MissingFiles.keptPaths { share.add(BytePath("\(index)")) }
    #expect(share.hasAllPaths)
    share.add("one more")
    #expect(!share.hasAllPaths && share.count == MissingFiles.keptPaths + 1)
    #expect(share.paths.count == MissingFiles.keptPaths)
  }

  @Test("Beyond the share nothing is recorded about the missing, and new files are taken")
  func refused() throws {
    let fixture = try fixture(40)
    for index in 0..<25 { try fixture.remove(BytePath("\(index)")) }
    try fixture.write("new", to: "new")
    fixture.report.events = []
    let refused = try importAll(fixture, into: fixture.report)
    let error = try #require(refused.first)
    #expect(refused.count == 1 && error.code == .source && error.path == fixture.source.path)
    #expect(error.message.hasPrefix("25 of 40 known files"))
    #expect(error.message.contains("--accept-missing"))
    #expect(fixture.report.events.map(\.outcome) == [.imported])
    #expect(try fixture.sighting("3")?.state == .imported)
    // The files are there again: as if nothing had been.
    for index in 0..<25 { try fixture.write("file \(index)", to: BytePath("\(index)")) }
    #expect(try importAll(fixture, into: fixture.report).isEmpty)
    #expect(try fixture.assets().count == 41)
  }

  @Test("Files in a folder that nobody can see into do not make the others' share smaller")
  func hiddenFolder() throws {
    let temporary = try TemporaryFolder()
    try #require(
      chown("\(temporary.path)", Unprivileged.user, Unprivileged.user) == 0 || geteuid() != 0)
    let first = try Unprivileged.run {
      let fixture = try IngestFixture(.copy, in: temporary)
      defer { fixture.close() }
      // One at a time: several files would be imported by several threads, of which only this one
      // has no privileges.
      for name in (0..<30).flatMap({ ["hidden/\($0)", "\($0)"] }) {
        try fixture.write("file \(name)", to: BytePath(name))
        #expect(try fixture.outcomes().values.filter { $0 == .imported }.count == 1)
      }
      for index in 0..<25 { try fixture.remove(BytePath("\(index)")) }
      let hidden = "\(fixture.path("hidden"))"
      try #require(chmod(hidden, 0) == 0)
      defer { chmod(hidden, 0o700) }
      let refused = try Ingest(
        into: fixture.library(), report: fixture.report, isStopped: { false }
      ).importSources([fixture.source])
      let recorded = try fixture.sighting("3")
      #expect(recorded?.state == .imported, "\(String(describing: recorded))")
      return refused.first?.message
    }
    #expect(first?.hasPrefix("25 of 30 known files") == true, "\(first ?? "nothing was refused")")
  }

  @Test("What the user accepts is recorded, and each path told once")
  func accepted() throws {
    let fixture = try fixture(40)
    for index in 0..<25 { try fixture.remove(BytePath("\(index)")) }
    let report = AcceptingReport()
    #expect(try importAll(fixture, into: report).isEmpty)
    #expect(report.asked.count == 1 && report.events.map(\.outcome).allSatisfy { $0 == .gone })
    #expect(report.events.count == 25)
    #expect(try fixture.sighting("3")?.state == .gone)
    #expect(try importAll(fixture, into: report).isEmpty)
    #expect(report.asked.count == 1 && report.events.count == 25)
  }

  @Test("A larger share may be configured, and is not asked about")
  func configured() throws {
    let fixture = try fixture(40)
    fixture.source.maxMissing = 0.7
    for index in 0..<25 { try fixture.remove(BytePath("\(index)")) }
    #expect(try fixture.outcomes().values.filter { $0 == .gone }.count == 25)
  }

  @Test("A folder that was renamed with all its files is no loss")
  func renamed() throws {
    let fixture = try IngestFixture(.copy)
    for index in 0..<30 { try fixture.write("file \(index)", to: BytePath("old/\(index)")) }
    try fixture.run()
    try #require(rename("\(fixture.path("old"))", "\(fixture.path("new"))") == 0)
    let outcomes = try fixture.outcomes()
    #expect(outcomes.values.filter { $0 == .gone }.count == 30)
    #expect(outcomes.values.filter { $0 == .duplicate }.count == 30)
    #expect(try fixture.sighting("old/3")?.reason?.contains("renamed to") == true)
    #expect(try fixture.sighting("new/3")?.state == .imported)
    #expect(try fixture.assets().count == 30)
  }

  @Test("More than are kept in memory are found by a second look")
  func secondLook() throws {
    let fixture = try IngestFixture(.copy)
    let library = try fixture.library()
    let count = MissingFiles.keptPaths + 5
    let identity = FileIdentity(inode: 1, size: 1, modified: 1, changed: 1)
    let changes: [CatalogChange] = (0..<count).map { index in
      .sighting(
        Sighting(
          source: fixture.source.path, path: BytePath("\(index)"), state: .rejected,
          identity: identity, reason: "The file is empty.", seenAt: .now))
    }
    try library.catalog.apply(changes, manifestPosition: 0)
    let report = AcceptingReport()
    #expect(try importAll(fixture, into: report).isEmpty)
    #expect(report.events.count == count && Set(report.events.map(\.path)).count == count)
    #expect(report.asked.first?.hasPrefix("\(count) of \(count) known files") == true)
  }
}

/// A user who means it.
private final class AcceptingReport: IngestReport {
  var events: [FileEvent] = []
  var asked: [String] = []

  func file(_ event: FileEvent) { events.append(event) }
  func committed() {}
  func warning(_ message: String) {}

  func acceptsMissing(_ description: String) -> Bool {
    asked.append(description)
    return true
  }
}
