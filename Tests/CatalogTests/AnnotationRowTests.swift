import PipelineModel
import Query
import Records
import Testing

@testable import Catalog

/// The rows of what users say about assets.
@Suite("Annotations in the catalog", .onEachDatabase, .timeLimit(.minutes(5)))
struct AnnotationRowTests {
  private func library(_ count: Int) throws -> Library {
    let library = try Library()
    try library.catalog.configure(Samples.stages())
    try library.add((1...count).map { Samples.asset($0) })
    return library
  }

  private func apply(_ library: Library, _ number: Int, _ annotations: Annotation...) throws {
    try library.catalog.apply(
      annotations.map { .annotated(Samples.id(number), $0) }, manifestPosition: 0)
  }

  private func found(_ library: Library, _ query: String) throws -> [AssetID] {
    let filter = try Filter(query: query)
    return try library.read { reader in
      var ids: [AssetID] = []
      try AssetSearch(filter).run(in: reader, damaged: [], need: .keys) { id, _ in ids.append(id) }
      return ids
    }
  }

  @Test("The last thing said counts, and a list keeps the others")
  func last() throws {
    let library = try library(2)
    try apply(
      library, 1, Annotation(.title, "a"), Annotation(.tag, "x"), Annotation(.tag, "y"),
      Annotation(.title, "b"), Annotation(.tag, "x", applies: false), Annotation(.album, "A"))
    let said = try library.read { try $0.annotations(of: Samples.id(1)) }
    #expect(
      said == [
        Annotation(.album, "A"), Annotation(.tag, "x", applies: false), Annotation(.tag, "y"),
        Annotation(.title, "b"),
      ])
    #expect(try library.read { try $0.annotations(of: Samples.id(2)) } == [])
    #expect(try library.read { try $0.annotations(of: Samples.id(3)) } == nil)
    #expect(try found(library, "tag=y album=A title=b") == [Samples.id(1)])
    #expect(try found(library, "tag=x") == [])
    #expect(try found(library, "y") == [Samples.id(1)])
    #expect(try library.integrity() == "ok")
  }

  @Test("Applied again from the beginning, the same remains")
  func again() throws {
    let library = try library(1)
    let changes = [
      Annotation(.tag, "x"), Annotation(.rating, "3"), Annotation(.tag, "x", applies: false),
      Annotation(.rating, "", applies: false), Annotation(.tag, "z"),
    ]
    for change in changes + changes { try apply(library, 1, change) }
    let said = try library.read { try $0.annotations(of: Samples.id(1)) }
    #expect(
      said == [
        Annotation(.rating, "", applies: false), Annotation(.tag, "x", applies: false),
        Annotation(.tag, "z"),
      ])
    #expect(try library.integrity() == "ok")
  }

  @Test("Facts that this program would not write are kept as it would, or left out")
  func foreign() throws {
    let library = try library(1)
    try apply(
      library, 1, Annotation(.rating, "nan"), Annotation(.rating, "inf"), Annotation(.title, ""),
      Annotation(.tag, "a\u{1b}"), Annotation(.tag, "e\u{301}"),
      Annotation(.tag, "\u{e9}", applies: false))
    let said = try library.read { try $0.annotations(of: Samples.id(1)) }
    #expect(said == [Annotation(.tag, "\u{e9}", applies: false)])
    #expect(try library.integrity() == "ok")
  }

  @Test("Of an asset that is gone nothing is said, and what was said goes with it")
  func gone() throws {
    let library = try library(2)
    try apply(library, 1, Annotation(.tag, "x"), Annotation(.album, "A"))
    try apply(library, 7, Annotation(.tag, "x"))
    #expect(try library.count("SELECT count(*) FROM annotation") == 2)
    try library.catalog.apply([.purged(Samples.id(1))], manifestPosition: 0)
    #expect(try library.count("SELECT count(*) FROM annotation") == 0)
    #expect(try library.count("SELECT count(*) FROM album") == 0)
    #expect(try library.integrity() == "ok")
  }

  @Test("Records, lines of JSON and the view say the same")
  func forms() throws {
    let library = try library(1)
    let text = "\u{e9} \"quoted\" \\ </b>"
    try apply(library, 1, Annotation(.caption, text), Annotation(.tag, "x", applies: false))
    try library.read { reader in
      let asset = try #require(try reader.asset(Samples.id(1)))
      #expect(
        asset.annotations == [Annotation(.caption, text), Annotation(.tag, "x", applies: false)])
      var lines: [[UInt8]] = []
      try reader.assetLines { _, line in if let line { lines.append(line) } }
      #expect(try reader.assetLine(of: Samples.id(1)) == lines.first)
      #expect(try reader.assetLine(of: Samples.id(2)) == nil)
      let line = try JSONText.decode(JSONValue.self, from: try #require(lines.first))
      #expect(
        line["annotations"] == [
          ["applies": true, "property": "caption", "text": .string(text)],
          ["applies": false, "property": "tag", "text": "x"],
        ])
    }
    #expect(try library.count("SELECT count(*) FROM annotations WHERE applies > 0") == 1)
  }
}
