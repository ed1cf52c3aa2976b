import Files
import Fixtures
import Hashing
import PipelineModel
import Testing

@testable import Export

/// Which path each file gets.
@Suite("Places of exported files", .timeLimit(.minutes(1)))
struct ExportPlacesTests {
  private let folder: TemporaryFolder
  private let root: Descriptor

  init() throws {
    folder = try TemporaryFolder()
    root = try Descriptor.openFolder(folder.path)
  }

  private func content(_ text: String) -> ExportPlaces.Content {
    ExportPlaces.Content(
      digest: SHA256.digest(of: Array(text.utf8)), size: text.utf8.count, modified: 1)
  }

  private func put(_ text: String, _ name: BytePath) throws {
    try root.writeDurably(Array(text.utf8), as: name)
  }

  @Test("Paths that are taken get numbers; the same bytes share a path")
  func numbers() throws {
    try put("other", "a.jpg")
    try put("x", "a-3.jpg")
    var places = ExportPlaces(in: root) { false }
    #expect(try places.place(content("one"), at: "a.jpg", listedIn: nil) == .free("a-2.jpg"))
    #expect(try places.place(content("x"), at: "a.jpg", listedIn: nil) == .present("a-3.jpg"))
    #expect(try places.place(content("two"), at: "a.jpg", listedIn: nil) == .free("a-4.jpg"))
    #expect(try places.place(content("b"), at: "b.jpg", listedIn: nil) == .free("b.jpg"))
    #expect(try places.place(content("b"), at: "b.jpg", listedIn: nil) == .claimed("b.jpg"))
    #expect(try places.place(content("c"), at: "b.jpg", listedIn: nil) == .free("b-2.jpg"))
    #expect(try places.place(content("c"), at: "b.jpg", listedIn: nil) == .claimed("b-2.jpg"))
    #expect(try places.place(content("b"), at: "b.jpg", listedIn: nil) == .claimed("b.jpg"))
    #expect(try places.place(content("d"), at: "new/d.jpg", listedIn: nil) == .free("new/d.jpg"))
  }

  @Test("A claim that somebody else's file overtakes is not taken for the file")
  func overtaken() throws {
    var places = ExportPlaces(in: root) { false }
    #expect(try places.place(content("mine"), at: "a.jpg", listedIn: nil) == .free("a.jpg"))
    try put("theirs", "a.jpg")
    places.withdraw("a.jpg")
    #expect(try places.place(content("mine"), at: "a.jpg", listedIn: nil) == .free("a-2.jpg"))
  }

  @Test("A file is found under the number it had, in whatever order they are asked for")
  func order() throws {
    for (text, name) in [("one", "a.jpg"), ("two", "a-2.jpg"), ("six", "a-3.jpg")] {
      try put(text, BytePath(name))
    }
    var list = try ChecksumList(in: root)
    try list.append(
      [("one", "a.jpg"), ("two", "a-2.jpg"), ("six", "a-3.jpg")].map {
        (BytePath($1), SHA256.digest(of: Array($0.utf8)))
      })
    list = try ChecksumList(in: root)
    var places = ExportPlaces(in: root) { false }
    #expect(try places.place(content("six"), at: "a.jpg", listedIn: list) == .present("a-3.jpg"))
    #expect(try places.place(content("new"), at: "a.jpg", listedIn: list) == .free("a-4.jpg"))
    #expect(try places.place(content("one"), at: "a.jpg", listedIn: list) == .present("a.jpg"))
    #expect(try places.place(content("two"), at: "a.jpg", listedIn: list) == .present("a-2.jpg"))
    // A file of another name with these bytes is none of its numbers.
    #expect(try places.place(content("two"), at: "b.jpg", listedIn: list) == .free("b.jpg"))
  }

  @Test("Listed or not, a file with other bytes is never taken for the one wanted")
  func bytes() throws {
    try put("one", "a.jpg")
    var list = try ChecksumList(in: root)
    let file = try Descriptor.openRegular("a.jpg", in: root)
    try file.setModified(1)
    // Same size and time, but not listed: the bytes are compared.
    var places = ExportPlaces(in: root) { false }
    #expect(try places.place(content("two"), at: "a.jpg", listedIn: list) == .free("a-2.jpg"))
    #expect(try places.place(content("one"), at: "a.jpg", listedIn: list) == .present("a.jpg"))
    // Listed with these bytes, but changed since, as its time says.
    try list.append([("a.jpg", content("two").digest)])
    list = try ChecksumList(in: root)
    try file.setModified(10_000_000_000)
    places = ExportPlaces(in: root) { false }
    #expect(try places.place(content("two"), at: "a.jpg", listedIn: list) == .free("a-2.jpg"))
  }

  @Test("What is no folder can't get files, and says so")
  func noFolder() throws {
    try put("x", "a")
    var places = ExportPlaces(in: root) { false }
    let error = #expect(throws: FileError.self) {
      try places.place(content("y"), at: "a/b.jpg", listedIn: nil)
    }
    #expect(error?.message.contains("is not a folder") == true)
  }
}
