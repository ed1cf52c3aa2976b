import Foundation
import PipelineModel
import Records
import Testing

@testable import Catalog

@Suite("Bytes of renditions in an older catalog", .timeLimit(.minutes(5)))
struct FormerBytesTests {
  private func hasTable(_ library: Library) throws -> Bool {
    try library.count("SELECT count(*) FROM sqlite_schema WHERE name = 'rendition_bytes'") == 1
  }

  /// Whether each rendition has its bytes, for readers and for the writer.
  private func expectWhole(_ library: Library, _ count: Int) throws {
    let renditions = try library.renditions()
    #expect(renditions.count == count)
    for rendition in renditions {
      let bytes = try library.read { try $0.renditionBytes(rendition.id) }
      #expect(bytes?.count == rendition.bytes)
      #expect(bytes.map { Array($0.prefix(32)) } == rendition.digest.bytes)
    }
    let misplaced = try library.catalog.misplacedRenditions(
      stage: "thumbnails", threshold: -1, place: "renditions", limit: 1_000)
    #expect(misplaced.count == count)
    for rendition in misplaced {
      #expect(try library.catalog.size(ofRendition: rendition.id) != nil)
    }
  }

  @Test("They are moved, and found in either place until all are; then the table is gone")
  func moved() throws {
    let library = try Library.rendered(6, ["grid", "preview"])
    try library.makeBytesFormer()
    #expect(try library.count("PRAGMA user_version") == Schema.version)
    try expectWhole(library, 12)
    #expect(try library.catalog.roomForFormerBytes() > 12 * 9_000)
    #expect(try library.keptKeys().isEmpty && hasTable(library))
    // So large that no two of them fit into one step.
    try library.execute(
      """
      UPDATE rendition_bytes SET content = CAST(content || zeroblob(3 << 20) AS BLOB)
      WHERE rendition <= 3
      """)
    try library.execute("UPDATE rendition SET bytes = bytes + (3 << 20) WHERE id <= 3")
    var steps = 1
    while try library.catalog.moveFormerBytes() {
      steps += 1
      try #require(steps < 20)
      try expectWhole(library, 12)
      // No row is in both places once a step is over.
      let left = try library.count("SELECT count(*) FROM rendition_bytes")
      #expect(try left + library.keptKeys().count == 12 && left > 0)
    }
    #expect(steps == 3)
    #expect(try library.catalog.roomForFormerBytes() == 0)
    try expectWhole(library, 12)
    #expect(try !hasTable(library) && library.keptKeys() == library.namedKeys())
    #expect(try library.catalog.moveFormerBytes() == false)
    #expect(try library.catalog.remakeLostRenditions().count == 0)
    // The counters were not told of the other sizes.
    #expect(try library.integrity(isPrepared: false) == "ok")
  }

  @Test("A kill between copying and deleting them changes nothing")
  func killed() throws {
    let library = try Library.rendered(4)
    try library.makeBytesFormer()
    try library.execute(
      """
      CREATE TEMP TRIGGER fault BEFORE DELETE ON main.rendition_bytes BEGIN
        SELECT RAISE(ABORT, 'as if killed');
      END
      """)
    #expect(throws: CatalogError.self) { try library.catalog.moveFormerBytes() }
    #expect(try library.keptKeys().count == 4)
    #expect(try library.count("SELECT count(*) FROM rendition_bytes") == 4)
    try library.reopen()
    try expectWhole(library, 4)
    #expect(try library.catalog.moveFormerBytes() == false)
    try expectWhole(library, 4)
    #expect(try !hasTable(library) && library.keptKeys() == library.namedKeys())
  }

  @Test("Rows that go or are made anew before they are moved leave nothing")
  func changed() throws {
    let library = try Library.rendered(4)
    try library.makeBytesFormer()
    try library.catalog.configure(Samples.stages())
    try library.catalog.apply([.purged(Samples.id(1))], manifestPosition: 9)
    let renditions = try library.renditions()
    try library.catalog.invalidate(rendition: renditions[0].id)
    try library.render(["grid"], mark: 5)
    try library.catalog.relocate(renditions[1].id, to: .file(path: "renditions/a"))
    #expect(try library.count("SELECT count(*) FROM rendition_bytes") == 1)
    while try library.catalog.moveFormerBytes() {}
    #expect(try library.keptKeys() == library.namedKeys() && library.keptKeys().count == 2)
    let anew = try #require(try library.renditions().last)
    #expect(try library.read { try $0.renditionBytes(anew.id) }?.last == 5)
  }

  @Test("A catalog without any such bytes loses the table when it is opened")
  func none() throws {
    let library = try Library()
    try library.makeBytesFormer()
    #expect(try !hasTable(library))
  }
}
