import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Hashing
import Ingest
import Manifest
import PipelineModel
import Records
import Testing

/// A library that nobody has locked, and stages that make one file for each original.
final class RenderedLibrary {
  let layout: LibraryLayout
  private let temporary: TemporaryFolder
  let catalog: Catalog

  /// Makes it.
  ///
  /// - Parameter originals: the texts of the files that it takes.
  init(_ originals: [String] = ["picture"]) throws {
    temporary = try TemporaryFolder()
    layout = LibraryLayout(root: temporary.appending("library"))
    let parent = try Descriptor.openFolder(temporary.path)
    try LibraryFolder.make(layout, in: parent)
    try parent.makeFolder("source")
    let path = temporary.appending("source")
    for (number, text) in originals.enumerated() {
      try Descriptor.openFolder(path).writeDurably(
        Array(text.utf8), as: BytePath("\(number).jpg"))
    }
    var source = SourceConfiguration(path: path)
    source.settle = TimeSpan(milliseconds: 0)
    let found = try LibraryFolder.open(layout)
    let report = SilentReport()
    let library = try IngestLibrary(found, lock: try found.lock(), reserve: 0, report: report)
    let refused = try Ingest(into: library, report: report, isStopped: { false }).importSources([
      source
    ])
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
    let (made, completions) = try makeFiles(stage)
    #expect(try catalog.complete(completions) == letGo.map(\.description))
    return made
  }

  /// Does a stage's work, but for the commit.
  func makeFiles(_ stage: String) throws -> (made: [BytePath], completions: [Completion]) {
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
    return (made, completions)
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
  ///
  /// - Parameter steps: told what is done.
  func problems(
    _ steps: @escaping (VerificationStep) -> Void = { _ in }
  ) throws -> [VerificationProblem] {
    let reader = try CatalogReader.open(at: layout.catalog, immutable: false)
    var problems: [VerificationProblem] = []
    let verification = try Verification(library: try LibraryFolder.open(layout), catalog: reader)
    _ = try verification.run(progress: steps) { problems.append($0) }
    try reader.close()
    return problems
  }

  // MARK: Manifest and catalog

  /// Records a second asset on an original, in the catalog only.
  func record(_ id: AssetID, digest: Digest) throws {
    let asset = NewAsset(
      id: id, digest: digest, size: 1, name: "b.jpg", source: "/source", path: "b.jpg",
      modified: 0, permissions: 0o644, importedAt: .now)
    try catalog.apply([.asset(asset)], manifestPosition: 0)
  }

  /// Adds facts to the manifest that the catalog takes for known.
  func append(_ facts: [ManifestFact]) throws {
    let position = try Manifest(folder: layout.manifest).append(facts)
    try catalog.apply([], manifestPosition: position)
  }
}

private final class SilentReport: IngestReport {
  func file(_ event: FileEvent) {}
  func committed() {}
  func warning(_ message: String) {}
}
