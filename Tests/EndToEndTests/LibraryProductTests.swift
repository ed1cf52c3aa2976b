import Fixtures
import Foundation
import PipelineLibrary
import PipelineModel
import Synchronization
import Testing

/// `PipelineLibrary` on a library that the built program made.
@Suite("The library as a product", .timeLimit(.minutes(10)))
struct LibraryProductTests {
  /// Three pictures of different sizes and a text.
  private func made() throws -> Workspace {
    let workspace = try Workspace()
    for (index, name) in ["b.jpg", "A.jpg", "c.jpg"].enumerated() {
      try workspace.put(
        try Pictures.jpeg(width: 30 + index, height: 20), as: BytePath(name))
    }
    try workspace.put("a text", as: "d.txt")
    try workspace.json("run")
    return workspace
  }

  private func library(of workspace: Workspace) async throws -> Library {
    try await workspace.openLibrary()
  }

  @Test("Assets are found, sorted, counted, put into sections and read page by page")
  func finding() async throws {
    let workspace = try made()
    let library = try await library(of: workspace)
    let all = try await library.fetch(Fetch())
    let listed = try workspace.json("list").of("asset")
    #expect(all.map(\.id.description) == listed.compactMap { $0["id"]?.string })
    #expect(all.map(\.name) == listed.compactMap { $0["name"]?.string })
    #expect(all.map(\.digest) == listed.compactMap { $0["digest"]?.string })
    #expect(all.map(\.type) == listed.map { $0["mediaType"]?.string })
    let pictures = try Fetch(#Predicate { $0.kind == "image" }).sorted(by: SortDescriptor(\.name))
    let names = try await library.fetch(pictures).map(\.name)
    #expect(names == ["A.jpg", "b.jpg", "c.jpg"])
    let wide = try pictures.matching(#Predicate { ($0.width ?? 0) > 30 })
      .sorted(by: SortDescriptor(\.width, order: .reverse), SortDescriptor(\.name))
    let first = try await library.fetch(wide.limited(to: 1))
    #expect(first.map(\.name) == ["c.jpg"])
    let next = try await library.fetch(wide.after(first[0].id).limited(to: 5))
    #expect(next.map(\.name) == ["A.jpg"])
    let count = try await library.count(wide)
    #expect(count == 2)
    let sections = try await library.sections(Fetch(), by: .kind)
    #expect(sections.map(\.name) == ["document", "image"] && sections.map(\.count) == [1, 3])
    var batches: [[String]] = []
    for try await batch in library.stream(pictures, batchSize: 2) {
      batches.append(batch.map(\.name))
    }
    #expect(batches == [["A.jpg", "b.jpg"], ["c.jpg"]])
  }

  @Test(
    "Assets without a value come where they are asked for, and an offset leaves out the first ones")
  func placing() async throws {
    let workspace = try made()
    let library = try await library(of: workspace)
    func names(_ fetch: Fetch) async throws -> [String] {
      try await library.fetch(fetch).map(\.name)
    }
    let widest = try Fetch().sorted(by: SortDescriptor(\.width, order: .reverse))
    let last = try await names(widest)
    let first = try await names(widest.nilFirst())
    let back = try await names(widest.nilFirst().nilLast())
    #expect(last == ["c.jpg", "A.jpg", "b.jpg", "d.txt"] && back == last)
    #expect(first == ["d.txt", "c.jpg", "A.jpg", "b.jpg"])
    let page = try await names(widest.offset(1).limited(to: 2))
    #expect(page == ["A.jpg", "b.jpg"])
    let text = try #require(try await library.fetch(Fetch(query: "name=d.txt")).first)
    let after = try await names(widest.nilFirst().after(text.id))
    #expect(after == ["c.jpg", "A.jpg", "b.jpg"])
    let beyond = try await names(widest.offset(9))
    let all = try await names(widest.offset(-1))
    #expect(beyond == [] && all == last)
  }

  @Test("Values are counted, and renditions come with their assets where they are asked for")
  func values() async throws {
    let workspace = try made()
    let library = try await library(of: workspace)
    let kinds = try await library.values(of: \.kind)
    #expect(kinds.map(\.value) == ["document", "image"] && kinds.map(\.count) == [1, 3])
    let pictures = try Fetch(query: "kind:image")
    let widths = try await library.values(of: \.width, pictures)
    #expect(widths.map(\.value) == [30, 31, 32] && widths.allSatisfy { $0.count == 1 })
    try await library.perform { edit in
      try edit.tag(pictures, add: ["a", "b"])
    }
    let tags = try await library.values(of: \.tags)
    #expect(tags.map(\.value) == ["a", "b", nil] && tags.map(\.count) == [3, 3, 1])
    let unknown = await #expect(throws: LibraryError.self) {
      _ = try await library.values(of: \.isTrashed.description)
    }
    #expect(unknown?.code == .notAQuestion)
    let plain = try await library.fetch(Fetch())
    #expect(plain.allSatisfy { $0.renditions == nil })
    let fetched = try await library.fetch(Fetch().prefetching(\.renditions, \.tags))
    #expect(fetched.map(\.id) == plain.map(\.id))
    for asset in fetched {
      let expected = try await library.renditions(of: asset.id)
      #expect(asset.renditions == expected && expected.isEmpty == (asset.kind != "image"))
    }
    #expect(throws: LibraryError.self) { try Fetch().prefetching(\.camera) }
  }

  @Test(
    "Bytes, renditions and facts are read when they are asked for, and compared with their hash")
  func reading() async throws {
    let workspace = try made()
    let library = try await library(of: workspace)
    let asset = try #require(try await library.fetch(Fetch(query: "name=b.jpg")).first)
    let bytes = Mutex<[UInt8]>([])
    try await library.readOriginal(of: asset.id) { chunk in bytes.withLock { $0 += chunk } }
    #expect(bytes.withLock { $0 } == (try Pictures.jpeg(width: 30, height: 20)))
    let renditions = try await library.renditions(of: asset.id)
    let grid = try #require(renditions.first)
    let data = try await library.rendition(grid.name, of: asset.id)
    #expect(data.count == grid.size && data.starts(with: [0xFF, 0xD8]))
    let facts = try await library.facts(of: asset.id)
    #expect(facts["identify"]?["width"] == 30)
    let missing = await #expect(throws: LibraryError.self) {
      _ = try await library.rendition("nothing", of: asset.id)
    }
    #expect(missing?.code == .noRendition)
    #expect(missing?.message.contains("no rendition “nothing”") == true)
    await #expect(throws: CancellationError.self) {
      try await library.readOriginal(of: asset.id) { _ in throw CancellationError() }
    }
    let original = "library/originals/\(asset.digest.prefix(2))/\(asset.digest)"
    try workspace.damage(BytePath(original), Array("X".utf8))
    let damaged = await #expect(throws: LibraryError.self) {
      try await library.readOriginal(of: asset.id) { _ in }
    }
    #expect(damaged?.code == .damaged)
  }

  @Test("An open library sees what is imported, and a catalog that was rebuilt")
  func changes() async throws {
    let workspace = try made()
    let library = try await library(of: workspace)
    let before = try await library.count(Fetch())
    try workspace.put("another text", as: "e.txt")
    try workspace.json("run")
    let after = try await library.count(Fetch())
    #expect(before == 4 && after == 5)
    try workspace.json("rebuild-catalog")
    try workspace.put("a third text", as: "f.txt")
    try workspace.json("run")
    let rebuilt = try await library.count(Fetch())
    #expect(rebuilt == 6)
  }

  @Test("Changes by other processes come as they happen, and go on where a stored revision was")
  func following() async throws {
    let workspace = try made()
    let library = try await library(of: workspace)
    let start = try await library.revision()
    let pictures = try Fetch(query: "kind:image -is:trashed")
    var iterator = library.changes(of: pictures, since: start).makeAsyncIterator()
    try workspace.put(try Pictures.jpeg(width: 40, height: 20), as: "e.jpg")
    try workspace.put("another text", as: "f.txt")
    try workspace.json("run")
    let listed = try await library.fetch(pictures)
    let new = try #require(listed.first { $0.name == "e.jpg" })
    var (known, place): ([AssetID: Asset], Revision) = ([:], start)
    func follow(until isThere: () -> Bool) async throws {
      while !isThere() {
        let changes = try #require(try await iterator.next())
        for asset in changes.assets { known[asset.id] = asset }
        for id in changes.removed { known[id] = nil }
        place = changes.revision
      }
    }
    try await follow { known[new.id] == new }
    #expect(known.count == 1)
    let isStored =
      try JSONDecoder().decode(Revision.self, from: JSONEncoder().encode(place)) == place
    #expect(isStored)
    // Out of the result, while nobody waits.
    try workspace.json("rm", BytePath(new.id.description))
    try await follow { known.isEmpty }
    var again = library.changes(of: Fetch(), since: place).makeAsyncIterator()
    try workspace.json("trash", "restore", BytePath(new.id.description))
    let restored = try await again.next()
    #expect(restored?.assets == [new] && restored?.removed == [])
    try workspace.json("rebuild-catalog")
    let error = await #expect(throws: LibraryError.self) { _ = try await again.next() }
    #expect(error?.code == .unknownRevision)
  }

  @Test("Waiting for changes ends with the task, and holds no thread")
  func cancelling() async throws {
    let workspace = try made()
    let library = try await library(of: workspace)
    let tasks = (0..<20).map { _ in
      Task {
        var count = 0
        for try await _ in library.changes(of: Fetch()) { count += 1 }
        return count
      }
    }
    // The pool has a thread for each processor: were they blocked, this would not come back.
    let revision = try await library.revision()
    #expect(revision.number > 0)
    for task in tasks { task.cancel() }
    for task in tasks {
      let count = try await task.value
      #expect(count == 0)
    }
  }

  @Test("What is not a library, or is gone, is an error that says so")
  func errors() async throws {
    let workspace = try made()
    let folder = workspace.root.description
    let nothing = await #expect(throws: LibraryError.self) {
      _ = try await Library.open(at: folder)
    }
    #expect(nothing?.code == .notALibrary && nothing?.message.contains("library.json") == true)
    let library = try await library(of: workspace)
    let id = try #require(AssetID("0190b5a4-0000-7000-8000-000000000001"))
    for body: @Sendable () async throws -> Void in [
      { _ = try await library.fetch(Fetch().sorted(by: SortDescriptor(\.name)).after(id)) },
      { _ = try await library.facts(of: id) },
    ] {
      let error = await #expect(throws: LibraryError.self) { try await body() }
      #expect(error?.code == .noAsset)
    }
    let asset = try await library.asset(id)
    #expect(asset == nil)
  }

  // It is given no database.
  @Test(
    "The example builds outside of this package, and prints what list does", .about(.catalogFile))
  func example() throws {
    let workspace = try made()
    let root = Checkout.root.path
    let script = """
      cp -R '\(root)/Examples/find-pictures' example
      sed -i 's|"../.."|"\(root)"|' example/Package.swift
      umask 022
      swift build --package-path example --scratch-path '\(root)/.build/examples' > build.log 2>&1
      '\(root)/.build/examples/debug/find-pictures' library 'kind:image' 30 > found.txt
      """
    do {
      try Unprivileged.shell(script, in: workspace)
    } catch {
      Issue.record("\(try String(decoding: workspace.read("build.log"), as: UTF8.self))")
    }
    let listed = try workspace.run(
      "list", "kind:image", "width>30", "--sort", "name", "--fields", "id,name")
    #expect(try String(decoding: workspace.read("found.txt"), as: UTF8.self) == listed.output)
    #expect(listed.output.split(separator: "\n").count == 2)
  }
}
