import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Testing

@testable import Ingest

@Suite("Originals without a record", .timeLimit(.minutes(1)))
struct AdoptionTests {
  private func repair(_ scene: Scene) throws -> RepairResult {
    let problems = try scene.problems(unlocked: true)
    return try Repair(library: scene.library(), report: scene.report)
      .repair(problems.filter(\.kind.isRepairable))
  }

  @Test("An original of which only the store knows gets a record by a repair, also after a rebuild")
  func adopted() throws {
    let scene = try Scene()
    try scene.library()
    let path = scene.original("bytes")
    try Descriptor.openFolder(scene.layout.originals).makeFolder(path.parent.lastComponent)
    try Descriptor.openFolder(path.parent)
      .writeDurably(Array("bytes".utf8), as: path.lastComponent, mode: 0o444)
    #expect(try scene.problems(unlocked: true).map(\.kind) == [.originalUnrecorded])
    #expect(try repair(scene).repaired == 1)
    for isRebuilt in [false, true] {
      if isRebuilt { _ = try scene.rebuild() }
      let asset = try #require(try scene.assets().first)
      #expect(asset.digest == scene.digest("bytes") && asset.name == path.lastComponent)
      #expect(try scene.problems(unlocked: true).isEmpty)
      #expect(try scene.run().isEmpty)
    }
  }

  @Test("Bytes that were deleted for good, or are damaged, get none")
  func refused() throws {
    let scene = try Scene()
    try scene.write("deleted", to: "a")
    try scene.run()
    try scene.purge(try scene.assets().map(\.id))
    let adoption = Adoption(library: try scene.library())
    #expect(try !adoption.adopt(scene.digest("deleted")) { false })
    #expect(try !adoption.adopt(scene.digest("nowhere")) { false })
    #expect(try scene.assets().isEmpty)
  }
}
