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

/// A source and a library in a temporary folder, and runs from one to the other.
final class IngestFixture {
  let temporary: TemporaryFolder
  /// The configuration of the one source, without a settle window.
  var source: SourceConfiguration
  let layout: LibraryLayout
  let report = RecordingReport()
  private var opened: IngestLibrary?

  /// Makes an empty source and a new library.
  init(
    _ mode: SourceConfiguration.Mode = .move,
    duplicates: SourceConfiguration.Duplicates = .discard, in temporary: TemporaryFolder? = nil,
    database: DatabaseLocation? = nil
  ) throws {
    self.temporary = try temporary ?? TemporaryFolder()
    let folder = try Descriptor.openFolder(self.temporary.path)
    try folder.makeFolder("source")
    source = SourceConfiguration(path: self.temporary.appending("source"))
    source.mode = mode
    source.duplicates = duplicates
    source.settle = TimeSpan(milliseconds: 0)
    layout = LibraryLayout(root: self.temporary.appending("library"), database: database)
    try LibraryFolder.make(layout, in: folder)
  }

  deinit { close() }

  // MARK: Runs

  /// Where disks ought to be mounted, and are, for the next opening.
  var mounts = MountTable()
  /// Whether the next opening is asked to stop at once.
  var isStopped = false

  /// The library, opened if it is not; opening recovers.
  @discardableResult
  func library(reserve: Int = 0) throws -> IngestLibrary {
    if let opened { return opened }
    let found = try LibraryFolder.open(layout)
    let library = try IngestLibrary(
      found, lock: try found.lock(wait: Self.patience), reserve: reserve, mounts: mounts,
      report: report
    ) { [isStopped] in isStopped }
    opened = library
    return library
  }

  /// For a moment a program that another test starts has a copy of every descriptor.
  static let patience = TimeSpan(milliseconds: 10_000)

  /// Rebuilds the catalog, with the library locked.
  func rebuild() throws -> CatalogRebuild.Result {
    close()
    let found = try LibraryFolder.open(layout)
    let lock = try found.lock(wait: Self.patience)
    return try withExtendedLifetime(lock) { try CatalogRebuild(found).run() }
  }

  /// Lets the library go, as the end of a process would.
  func close() {
    // Clean-up: a catalog that can't be closed goes with its folder.
    try? opened?.close()
    opened = nil
  }

  /// Takes what is complete and returns what was reported, by path relative to the source.
  @discardableResult
  func run(reserve: Int = 0) throws -> [BytePath: FileEvent] {
    let library = try library(reserve: reserve)
    report.events = []
    let refused = try Ingest(into: library, report: report, isStopped: { false }).importSources([
      source
    ])
    if let error = refused.first { throw error }
    return Dictionary(
      report.events.map { ($0.path.relative(to: source.path) ?? $0.path, $0) },
      uniquingKeysWith: { $1 })
  }

  /// The outcomes of a run by path.
  func outcomes(reserve: Int = 0) throws -> [BytePath: Sighting.State] {
    try run(reserve: reserve).mapValues(\.outcome)
  }

  // MARK: Maintenance

  /// Takes what is complete in a run of its own.
  ///
  /// - Returns: the run.
  @discardableResult
  func recordedRun() throws -> AssetID {
    let library = try library()
    let run = library.ids.next()
    try library.catalog.beginRun(RunRecord(id: run, verb: "run", startedAt: .now))
    library.run = run
    defer { library.run = nil }
    try self.run()
    return run
  }

  /// Undoes a run.
  ///
  /// - Returns: what was reported, by path relative to the source.
  @discardableResult
  func undo(_ run: AssetID) throws -> [BytePath: FileEvent] {
    report.events = []
    let result = try Undo(library: library(), sources: [], report: report).undo(run) { false }
    let returned = report.events.count { $0.outcome == .returned }
    #expect(result.returned == returned && result.failed == report.events.count - returned)
    return Dictionary(
      report.events.map { ($0.path.relative(to: source.path) ?? $0.path, $0) },
      uniquingKeysWith: { $1 })
  }

  /// Deletes assets for good.
  func purge(_ assets: [AssetID]) throws {
    let trash = Trash(library: try library(), report: report)
    _ = try trash.trash(assets)
    _ = try trash.empty()
  }

  /// Copies a file in, as `import` does.
  func importFile(_ path: BytePath) throws -> FileEvent? {
    report.events = []
    try Ingest(into: library(), report: report, isStopped: { false })
      .copyIn([path], sources: [source])
    return report.events.first
  }

  // MARK: The source

  func path(_ name: BytePath) -> BytePath { source.path.appending(name) }

  @discardableResult
  func write(
    _ text: String, to name: BytePath, permissions: UInt32 = 0o644
  ) throws -> FileIdentity {
    let folder = try folder(of: name)
    let file = try Descriptor.open(
      name.lastComponent, in: folder, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: permissions)
    try file.write(Array(text.utf8))
    return try file.status().identity
  }

  /// The folder of a path in the source, made where it is missing.
  func folder(of name: BytePath) throws -> Descriptor {
    var folder = try Descriptor.openFolder(source.path)
    for part in name.components.dropLast() {
      try folder.makeFolder(part)
      folder = try Descriptor.openFolder(part, in: folder)
    }
    return folder
  }

  func identity(_ name: BytePath) throws -> FileIdentity {
    try folder(of: name).status(of: name.lastComponent).identity
  }

  /// Whether there is something, a link that leads nowhere included.
  func exists(_ name: BytePath) -> Bool {
    do throws(FileError) {
      _ = try Descriptor.openFolder(source.path).openParent(of: name)
        .status(of: name.lastComponent)
      return true
    } catch {
      return false
    }
  }

  func remove(_ name: BytePath) throws {
    try folder(of: name).remove(name.lastComponent)
  }

  // MARK: The library

  func digest(_ text: String) -> Digest { SHA256.digest(of: Array(text.utf8)) }

  func original(_ text: String) -> BytePath {
    let digest = digest(text)
    return layout.originals.appending("\(digest.hex.prefix(2))/\(digest.hex)")
  }

  /// Spoils a stored original, as a failing disk would.
  func spoil(_ text: String) throws {
    let path = original(text)
    try Descriptor.openFolder(path.parent).writeDurably(
      Array("spoiled".utf8), as: path.lastComponent, mode: 0o444)
  }

  func sighting(_ name: BytePath) throws -> Sighting? {
    try library().catalog.sighting(source: source.path, path: name)
  }

  func assets() throws -> [AssetRecord] {
    var assets: [AssetRecord] = []
    try library().reader.assets { assets.append($0) }
    return assets
  }

  /// What `verify` finds.
  ///
  /// - Parameter unlocked: whether nobody works on the library meanwhile, so that
  ///   leftovers are looked for as well.
  func problems(unlocked: Bool = false) throws -> [VerificationProblem] {
    if unlocked { close() }
    let reader =
      unlocked
      ? try CatalogReader.open(at: layout.catalog, immutable: false) : try library().reader
    let found = try LibraryFolder.open(layout)
    var problems: [VerificationProblem] = []
    try Verification(library: found, catalog: reader).run { problems.append($0) }
    if unlocked { try reader.close() }
    return problems
  }
}

/// Remembers what ingest tells.
final class RecordingReport: IngestReport {
  var events: [FileEvent] = []
  var warnings: [String] = []
  var commits = 0

  func file(_ event: FileEvent) { events.append(event) }
  func committed() { commits += 1 }
  func warning(_ message: String) { warnings.append(message) }
}
