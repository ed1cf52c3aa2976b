import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@testable import Ingest

@Suite("One file that the library has no place for", .timeLimit(.minutes(1)))
struct OneBadFileTests {
  private static let others = (0..<20).map { BytePath("other\($0)") }

  /// Puts a link in the place of the folder of an original.
  private func block(_ text: String, in scene: Scene) throws {
    let folder = scene.original(text).parent
    let store = try Descriptor.openFolder(scene.layout.originals)
    let name = folder.lastComponent
    if try store.entries().contains(where: { $0.name == name }) {
      try store.rename(name, to: try Descriptor.openFolder(scene.temporary.path), as: "aside")
    }
    try #require(symlink("/nowhere", "\(folder)") == 0)
  }

  /// Files whose originals come into other folders.
  private func writeOthers(_ scene: Scene, besides text: String) throws -> [BytePath] {
    let folder = scene.digest(text).hex.prefix(2)
    let names = Self.others.filter { scene.digest("\($0)").hex.prefix(2) != folder }
    for name in names { try scene.write("\(name)", to: name) }
    return names
  }

  @Test(
    "A new file stays where it was with a reason, the others are taken", arguments: [true, false])
  func fresh(byRename: Bool) throws {
    let scene = try Scene()
    if !byRename { scene.source.take = .copy }
    try scene.library()
    try block("bad", in: scene)
    let others = try writeOthers(scene, besides: "bad")
    try scene.write("bad", to: "bad", permissions: 0o640)
    let outcomes = try scene.outcomes()
    #expect(outcomes["bad"] == .failed)
    #expect(others.allSatisfy { outcomes[$0] == .imported })
    #expect(try filesBelow(scene.source.path) == ["bad": Array("bad".utf8)])
    #expect(try scene.folder(of: "bad").status(of: "bad").permissions == 0o640)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
    try #require(unlink("\(scene.original("bad").parent)") == 0)
    #expect(try scene.outcomes() == ["bad": .imported])
    #expect(try scene.problems(unlocked: true).isEmpty)
  }

  @Test("So does a duplicate whose original can't be read", arguments: [true, false])
  func duplicate(byRename: Bool) throws {
    let scene = try Scene()
    if !byRename { scene.source.take = .copy }
    try scene.write("bad", to: "first")
    try scene.run()
    try block("bad", in: scene)
    let others = try writeOthers(scene, besides: "bad")
    try scene.write("bad", to: "bad")
    let outcomes = try scene.outcomes()
    #expect(outcomes["bad"] == .failed)
    #expect(others.allSatisfy { outcomes[$0] == .imported })
    #expect(try filesBelow(scene.source.path) == ["bad": Array("bad".utf8)])
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
  }
}
