import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("One file that the library has no place for", .timeLimit(.minutes(1)))
struct OneBadFileTests {
  private static let others = (0..<20).map { BytePath("other\($0)") }

  /// Puts a link in the place of the folder of an original.
  private func block(_ text: String, in fixture: IngestFixture) throws {
    let folder = fixture.original(text).parent
    let store = try Descriptor.openFolder(fixture.layout.originals)
    let name = folder.lastComponent
    if try store.entries().contains(where: { $0.name == name }) {
      try store.rename(name, to: try Descriptor.openFolder(fixture.temporary.path), as: "aside")
    }
    try #require(symlink("/nowhere", "\(folder)") == 0)
  }

  /// Files whose originals come into other folders.
  private func writeOthers(_ fixture: IngestFixture, besides text: String) throws -> [BytePath] {
    let folder = fixture.digest(text).hex.prefix(2)
    let names = Self.others.filter { fixture.digest("\($0)").hex.prefix(2) != folder }
    for name in names { try fixture.write("\(name)", to: name) }
    return names
  }

  @Test(
    "A new file stays where it was with a reason, the others are taken", arguments: [true, false])
  func fresh(byRename: Bool) throws {
    let fixture = try IngestFixture()
    if !byRename { fixture.source.take = .copy }
    try fixture.library()
    try block("bad", in: fixture)
    let others = try writeOthers(fixture, besides: "bad")
    try fixture.write("bad", to: "bad", permissions: 0o640)
    let outcomes = try fixture.outcomes()
    #expect(outcomes["bad"] == .failed)
    #expect(others.allSatisfy { outcomes[$0] == .imported })
    #expect(try filesBelow(fixture.source.path) == ["bad": Array("bad".utf8)])
    #expect(try fixture.folder(of: "bad").status(of: "bad").permissions == 0o640)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
    try #require(unlink("\(fixture.original("bad").parent)") == 0)
    #expect(try fixture.outcomes() == ["bad": .imported])
    #expect(try fixture.problems(unlocked: true).isEmpty)
  }

  @Test("So does a duplicate whose original can't be read", arguments: [true, false])
  func duplicate(byRename: Bool) throws {
    let fixture = try IngestFixture()
    if !byRename { fixture.source.take = .copy }
    try fixture.write("bad", to: "first")
    try fixture.run()
    try block("bad", in: fixture)
    let others = try writeOthers(fixture, besides: "bad")
    try fixture.write("bad", to: "bad")
    let outcomes = try fixture.outcomes()
    #expect(outcomes["bad"] == .failed)
    #expect(others.allSatisfy { outcomes[$0] == .imported })
    #expect(try filesBelow(fixture.source.path) == ["bad": Array("bad".utf8)])
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }
}
