import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Hashing
import Ingest
import PipelineModel
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

  @Test("A library without its folder of renditions lacks those on record and no more")
  func noRenditions() throws {
    let library = try RenderedLibrary()
    try library.folder("").removeFolder("renditions")
    #expect(try library.problems() == [])
  }
}

/// A library with one original that nobody has locked, and stages that make one file each.
private final class RenderedLibrary {
  let layout: LibraryLayout
  private let temporary: TemporaryFolder
  private let catalog: Catalog

  init() throws {
    temporary = try TemporaryFolder()
    layout = LibraryLayout(root: temporary.appending("library"))
    let parent = try Descriptor.openFolder(temporary.path)
    try LibraryFolder.make(layout, in: parent)
    try parent.makeFolder("source")
    let path = temporary.appending("source")
    try Descriptor.openFolder(path).writeDurably(Array("picture".utf8), as: "a.jpg")
    var source = SourceConfiguration(path: path)
    source.settle = TimeSpan(milliseconds: 0)
    let found = try LibraryFolder.open(layout)
    let report = SilentReport()
    let library = try IngestLibrary(found, lock: try found.lock(), reserve: 0, report: report)
    let refused = try Ingest(into: library, report: report, isStopped: { false }).take([source])
    try #require(refused.isEmpty)
    try library.close()
    catalog = try Catalog.open(at: layout.catalog, libraryID: found.marker.library)
  }

  deinit {
    // Clean-up: the folder goes anyway.
    try? catalog.close()
  }

  func folder(_ path: BytePath) throws -> Descriptor {
    try Descriptor.openFolder(path.bytes.isEmpty ? layout.root : layout.root.appending(path))
  }

  /// Configures stages, each with the number that its fingerprint is of.
  func configure(_ stages: KeyValuePairs<String, Int>) throws {
    try catalog.configure(
      stages.map { name, number in
        StageDefinition(
          name: name, plugin: "p", fingerprint: Self.fingerprint(number), isAssetScoped: false,
          needs: [], attempts: 3, runtime: "1", limits: "{}")
      })
  }

  private static func fingerprint(_ number: Int) -> Fingerprint {
    Fingerprint(SHA256.digest(of: Array("\(number)".utf8)))
  }

  /// Does a stage's work, as far as the commit.
  ///
  /// - Parameter letGo: the files that have to be returned for removal.
  /// - Returns: the files that were made.
  func complete(_ stage: String, letGo: [BytePath] = []) throws -> [BytePath] {
    let jobs = try catalog.claim(stage: stage, limit: 8, suspects: false)
    var made: [BytePath] = []
    let completions = try jobs.map { job in
      let owner = job.digest.hex
      let bytes = Array("\(stage) \(job.fingerprint.short)".utf8)
      var place = try folder("renditions")
      for part in [stage, String(owner.prefix(2))] {
        try place.makeFolder(BytePath(part))
        place = try Descriptor.openFolder(BytePath(part), in: place)
      }
      let name = BytePath("\(owner).\(job.fingerprint.short).grid.jpg")
      try place.writeDurably(bytes, as: name)
      let path = BytePath("renditions/\(stage)/\(owner.prefix(2))").appending(name)
      made.append(path)
      let rendition = NewRendition(
        name: "grid", mediaType: "image/jpeg", width: 1, height: 1, bytes: bytes.count,
        digest: SHA256.digest(of: bytes), from: nil, content: .file(path: path.description))
      return Completion(
        token: job.token, outcome: .done(facts: [:], renditions: [rendition]), seconds: 1)
    }
    #expect(try catalog.complete(completions) == letGo.map(\.description))
    return made
  }

  /// All files below `renditions/`, sorted.
  func files() throws -> [BytePath] {
    func visit(_ folder: Descriptor, _ path: BytePath) throws -> [BytePath] {
      try folder.entries().flatMap { entry in
        let inner = path.appending(entry.name)
        return try folder.status(of: entry.name).kind == .folder
          ? visit(try Descriptor.openFolder(entry.name, in: folder), inner) : [inner]
      }
    }
    return try visit(try folder("renditions"), "renditions").sorted()
  }

  /// What is found wrong.
  func problems() throws -> [VerificationProblem] {
    let reader = try CatalogReader.open(at: layout.catalog, immutable: false)
    var problems: [VerificationProblem] = []
    let verification = try Verification(library: try LibraryFolder.open(layout), catalog: reader)
    _ = try verification.run { problems.append($0) }
    try reader.close()
    return problems
  }
}

private final class SilentReport: IngestReport {
  func file(_ event: FileEvent) {}
  func committed() {}
  func warning(_ message: String) {}
}
