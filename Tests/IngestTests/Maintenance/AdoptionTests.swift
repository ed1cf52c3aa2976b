import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Originals without a record", .timeLimit(.minutes(1)))
struct AdoptionTests {
  private func repair(_ fixture: IngestFixture) throws -> RepairResult {
    let problems = try fixture.problems(unlocked: true)
    return try Repair(library: fixture.library(), report: fixture.report)
      .repair(problems.filter(\.kind.isRepairable))
  }

  @Test("An original of which only the store knows gets a record by a repair, also after a rebuild")
  func adopted() throws {
    let fixture = try IngestFixture()
    try fixture.library()
    let path = fixture.original("bytes")
    try Descriptor.openFolder(fixture.layout.originals).makeFolder(path.parent.lastComponent)
    try Descriptor.openFolder(path.parent)
      .writeDurably(Array("bytes".utf8), as: path.lastComponent, mode: 0o444)
    #expect(try fixture.problems(unlocked: true).map(\.kind) == [.originalUnrecorded])
    #expect(try repair(fixture).repaired == 1)
    for isRebuilt in [false, true] {
      if isRebuilt { _ = try fixture.rebuild() }
      let asset = try #require(try fixture.assets().first)
      #expect(asset.digest == fixture.digest("bytes") && asset.name == path.lastComponent)
      #expect(try fixture.problems(unlocked: true).isEmpty)
      #expect(try fixture.run().isEmpty)
    }
  }

  @Test("Bytes that were deleted for good, or are damaged, get none")
  func refused() throws {
    let fixture = try IngestFixture()
    try fixture.write("deleted", to: "a")
    try fixture.run()
    try fixture.purge(try fixture.assets().map(\.id))
    let adoption = Adoption(library: try fixture.library())
    #expect(try !adoption.adopt(fixture.digest("deleted")) { false })
    #expect(try !adoption.adopt(fixture.digest("nowhere")) { false })
    #expect(try fixture.assets().isEmpty)
  }
}
