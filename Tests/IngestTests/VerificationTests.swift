import Catalog
import Files
import Fixtures
import Glibc
import Hashing
import Ingest
import Originals
import PipelineModel
import Records
import Synchronization
import Testing

@Suite("Verification", .timeLimit(.minutes(1)))
struct VerificationTests {
  @Test("A rendition's file that no record names is reported, unless somebody may be at it")
  func unrecordedRendition() throws {
    let library = try RenderedLibrary()
    try library.configure(["thumbnails": 1])
    let old = try #require(try library.complete("thumbnails").first)
    #expect(try library.problems() == [])

    // Served until it is replaced, so it is named.
    try library.configure(["thumbnails": 2])
    #expect(try library.problems() == [])

    // As a kill leaves it: committed, and the file that was let go not removed.
    _ = try library.complete("thumbnails", letGo: [old])
    let problems = try library.problems()
    #expect(problems.map(\.kind) == [.renditionUnrecorded])
    #expect(problems.first?.path == library.layout.root.appending(old))
    #expect(problems.first?.message.contains(old.printable) == true)

    let lock = try LibraryFolder.open(library.layout).lock()
    #expect(try withExtendedLifetime(lock) { try library.problems() } == [])
  }

  @Test("A file that is still to be removed is on record")
  func discardedFile() throws {
    let library = try RenderedLibrary()
    try library.configure(["one": 1, "two": 2])
    let one = try #require(try library.complete("one").first)
    let two = try #require(try library.complete("two").first)
    // The first stage finds the second one's work done, so its own is let go at once.
    try library.configure(["one": 2])
    #expect(try library.files() == [one, two])
    #expect(try library.problems() == [])
    // The errand is run with the next batch that is complete.
    try library.configure(["one": 2, "three": 3])
    _ = try library.complete("three", letGo: [one])
    #expect(try library.problems().map(\.path) == [library.layout.root.appending(one)])
  }

  @Test("Foreign files, links and half-written files below renditions/ are reported")
  func foreignFiles() throws {
    let library = try RenderedLibrary()
    try library.configure(["thumbnails": 1])
    let path = try #require(try library.complete("thumbnails").first)
    let half = BytePath(bytes: Array(".".utf8) + path.lastComponent.bytes + Array(".new".utf8))
    let folder = try library.folder(path.parent)
    try folder.writeDurably([1], as: half)
    try folder.makeFolder("empty")
    #expect(symlink(path.lastComponent.description, "\(folder.path)/link") == 0)
    let name = BytePath(bytes: [0x61, 0xFF])
    try library.folder("renditions").writeDurably([1], as: name)
    let problems = try library.problems()
    #expect(problems.allSatisfy { $0.kind == .renditionUnrecorded })
    #expect(
      Set(problems.map(\.path)) == [
        folder.path.appending(half), folder.path.appending("link"),
        library.layout.renditions.appending(name),
      ])
  }

  @Test("What a killed run left in incoming/ and work/ is reported")
  func leftovers() throws {
    let library = try RenderedLibrary()
    try library.folder("incoming").writeDurably([1], as: "1")
    try library.folder("work").makeFolder("7")
    let problems = try library.problems()
    #expect(problems.map(\.kind) == [.incomingLeftover, .workLeftover])
    #expect(problems.last?.path == library.layout.work.appending("7"))
    let lock = try LibraryFolder.open(library.layout).lock()
    #expect(try withExtendedLifetime(lock) { try library.problems() } == [])
  }

  @Test("An original without a record that is gone before it is reported is not reported")
  func removedOriginal() throws {
    let library = try RenderedLibrary()
    let digest = SHA256.digest(of: Array("unknown".utf8))
    let name = BytePath(String(digest.hex.prefix(2)))
    try library.folder("originals").makeFolder(name)
    let folder = try library.folder(BytePath("originals").appending(name))
    try folder.writeDurably(Array("unknown".utf8), as: BytePath(digest.hex), mode: 0o444)
    #expect(try library.problems().map(\.kind) == [.originalUnrecorded])
    // As `gc` removes one that was deleted permanently, and forgets the deletion.
    let problems = try library.problems { step in
      guard step == .folders(255) else { return }
      #expect(throws: Never.self) { try folder.remove(BytePath(digest.hex)) }
    }
    #expect(problems == [])
  }

  @Test("A library without its folder of renditions lacks those on record and no more")
  func noRenditions() throws {
    let library = try RenderedLibrary()
    try library.folder("").removeFolder("renditions")
    #expect(try library.problems() == [])
  }

  // MARK: What can't be read

  /// Where the original of a text lies.
  private func original(_ text: String, in library: RenderedLibrary) -> BytePath {
    library.layout.originals.appending(
      OriginalLayout.path(of: SHA256.digest(of: Array(text.utf8))))
  }

  @Test("An original that has a link, a folder or a pipe in its place is one problem of many files")
  func obstructedOriginals() throws {
    let texts = ["link", "folder", "pipe", "damaged", "whole", "missing"]
    let library = try RenderedLibrary(texts)
    let paths = texts.map { original($0, in: library) }
    let elsewhere = library.layout.root.appending("elsewhere")
    try #require(rename("\(paths[0])", "\(elsewhere)") == 0)
    try #require(symlink("\(elsewhere)", "\(paths[0])") == 0)
    try #require(unlink("\(paths[1])") == 0 && mkdir("\(paths[1])", 0o700) == 0)
    try #require(unlink("\(paths[2])") == 0 && mkfifo("\(paths[2])", 0o600) == 0)
    try #require(chmod("\(paths[3])", 0o600) == 0 && truncate("\(paths[3])", 3) == 0)
    try #require(unlink("\(paths[5])") == 0)
    var checked = 0
    let problems = try library.problems { if case .files(let count) = $0 { checked = count } }
    #expect(checked == texts.count)
    #expect(Set(problems.map(\.path)) == Set(paths).subtracting([paths[4]]))
    #expect(problems.count { $0.kind == .originalDamaged } == 4 && problems.count == 5)
    #expect(problems.allSatisfy { $0.assets.count == 1 })
  }

  @Test("A folder of originals that can't be looked at is told, and the others are looked at")
  func blockedFolder() throws {
    let library = try RenderedLibrary(["one", "two"])
    let folder = original("one", in: library).parent
    let hidden = library.layout.root.appending("hidden")
    try #require(rename("\(folder)", "\(hidden)") == 0)
    try #require(symlink("\(hidden)", "\(folder)") == 0)
    let foreign = original("two", in: library).parent.appending("notes.txt")
    try Descriptor.openFolder(foreign.parent).writeDurably([1], as: foreign.lastComponent)
    let problems = try library.problems()
    #expect(Set(problems.map(\.kind)) == [.originalDamaged, .unreadable, .foreignFile])
    #expect(problems.first { $0.kind == .unreadable }?.path == folder)
    #expect(problems.first { $0.kind == .foreignFile }?.path == foreign)
  }

  @Test("A rendition that has a link, a folder or a pipe in its place is one problem of many files")
  func obstructedRenditions() throws {
    let library = try RenderedLibrary(["1", "2", "3", "4"])
    try library.configure(["thumbnails": 1])
    let paths = try library.complete("thumbnails").map { library.layout.root.appending($0) }
    for path in paths.dropLast() { try #require(unlink("\(path)") == 0) }
    try #require(symlink("\(paths[3])", "\(paths[0])") == 0)
    try #require(mkdir("\(paths[1])", 0o700) == 0 && mkfifo("\(paths[2])", 0o600) == 0)
    let problems = try library.problems()
    #expect(problems.map(\.kind) == [.renditionDamaged, .renditionDamaged, .renditionDamaged])
    #expect(Set(problems.map(\.path)) == Set(paths.dropLast()))
  }

  @Test("A comparison that is stopped leaves its place, and the next one completes it")
  func stoppedComparison() throws {
    let library = try RenderedLibrary()
    try library.configure(["thumbnails": 1])
    _ = try library.complete("thumbnails")
    let reader = try CatalogReader.open(at: library.layout.catalog, immutable: false)
    let verification = try Verification(
      library: try LibraryFolder.open(library.layout), catalog: reader)
    let stops: [(VerificationStep) -> Bool] = [
      { $0 == .folders(255) }, { if case .facts = $0 { true } else { false } },
      { $0 == .renditionFolders(0) },
    ]
    for isLast in stops {
      let isStopped = Atomic(false)
      var last: VerificationStep?
      let stopped = try verification.run(
        isStopped: { isStopped.load(ordering: .relaxed) },
        progress: { step in
          last = step
          if isLast(step) { isStopped.store(true, ordering: .relaxed) }
        }
      ) { _ in }
      #expect(isStopped.load(ordering: .relaxed) && !stopped.isComplete && last.map(isLast) == true)
      let rest = try verification.run(limit: TimeSpan(milliseconds: 60_000)) { _ in }
      #expect(rest.isComplete && rest.checked == 0)
    }
    try reader.close()
  }
}
