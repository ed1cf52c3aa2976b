import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@testable import Ingest

@Suite("Too many missing files", .timeLimit(.minutes(2)))
struct MissingShareTests {
  /// A copied source with files that are known.
  private func scene(_ count: Int) throws -> Scene {
    let scene = try Scene(.copy)
    for index in 0..<count { try scene.write("file \(index)", to: BytePath("\(index)")) }
    try scene.run()
    return scene
  }

  private func takeAll(_ scene: Scene, into report: any IngestReport) throws -> [IngestError] {
    try Ingest(into: scene.library(), report: report, isStopped: { false }).take([scene.source])
  }

  @Test("Twenty may always be missing; of more, the share decides")
  func limit() {
    func isExceeded(_ count: Int, of known: Int, _ allowed: Double, renames: Int = 3) -> Bool {
      var share = MissingShare(allowed: allowed, renames: 3)
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
    var share = MissingShare(allowed: 1, renames: 0)
    for index in 0..<MissingShare.keptPaths { share.add(BytePath("\(index)")) }
    #expect(share.hasAllPaths)
    share.add("one more")
    #expect(!share.hasAllPaths && share.count == MissingShare.keptPaths + 1)
    #expect(share.paths.count == MissingShare.keptPaths)
  }

  @Test("Beyond the share nothing is recorded about the missing, and new files are taken")
  func refused() throws {
    let scene = try scene(40)
    for index in 0..<25 { try scene.remove(BytePath("\(index)")) }
    try scene.write("new", to: "new")
    scene.report.events = []
    let refused = try takeAll(scene, into: scene.report)
    let error = try #require(refused.first)
    #expect(refused.count == 1 && error.code == .source && error.path == scene.source.path)
    #expect(error.message.hasPrefix("25 of 40 known files"))
    #expect(error.message.contains("--accept-missing"))
    #expect(scene.report.events.map(\.outcome) == [.imported])
    #expect(try scene.sighting("3")?.state == .imported)
    // The files are there again: as if nothing had been.
    for index in 0..<25 { try scene.write("file \(index)", to: BytePath("\(index)")) }
    #expect(try takeAll(scene, into: scene.report).isEmpty)
    #expect(try scene.assets().count == 41)
  }

  @Test("What the user accepts is recorded, and each path told once")
  func accepted() throws {
    let scene = try scene(40)
    for index in 0..<25 { try scene.remove(BytePath("\(index)")) }
    let report = AcceptingReport()
    #expect(try takeAll(scene, into: report).isEmpty)
    #expect(report.asked.count == 1 && report.events.map(\.outcome).allSatisfy { $0 == .gone })
    #expect(report.events.count == 25)
    #expect(try scene.sighting("3")?.state == .gone)
    #expect(try takeAll(scene, into: report).isEmpty)
    #expect(report.asked.count == 1 && report.events.count == 25)
  }

  @Test("A larger share may be configured, and is not asked about")
  func configured() throws {
    let scene = try scene(40)
    scene.source.maxMissing = 0.7
    for index in 0..<25 { try scene.remove(BytePath("\(index)")) }
    #expect(try scene.outcomes().values.filter { $0 == .gone }.count == 25)
  }

  @Test("A folder that was renamed with all its files is no loss")
  func renamed() throws {
    let scene = try Scene(.copy)
    for index in 0..<30 { try scene.write("file \(index)", to: BytePath("old/\(index)")) }
    try scene.run()
    try #require(rename("\(scene.path("old"))", "\(scene.path("new"))") == 0)
    let outcomes = try scene.outcomes()
    #expect(outcomes.values.filter { $0 == .gone }.count == 30)
    #expect(outcomes.values.filter { $0 == .duplicate }.count == 30)
    #expect(try scene.sighting("old/3")?.reason?.contains("renamed to") == true)
    #expect(try scene.sighting("new/3")?.state == .imported)
    #expect(try scene.assets().count == 30)
  }

  @Test("More than are kept in memory are found by a second look")
  func secondLook() throws {
    let scene = try Scene(.copy)
    let library = try scene.library()
    let count = MissingShare.keptPaths + 5
    let identity = FileIdentity(inode: 1, size: 1, modified: 1, changed: 1)
    let changes: [CatalogChange] = (0..<count).map { index in
      .sighting(
        Sighting(
          source: scene.source.path, path: BytePath("\(index)"), state: .rejected,
          identity: identity, reason: "The file is empty.", seenAt: .now))
    }
    try library.catalog.apply(changes, manifestPosition: 0)
    let report = AcceptingReport()
    #expect(try takeAll(scene, into: report).isEmpty)
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
