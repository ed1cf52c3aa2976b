import Catalog
import Configuration
import Files
import Fixtures
import Hashing
import Originals
import PipelineModel
import PipelinePlugin
import Records
import Renditions
import Synchronization
import Testing

@testable import Engine
@testable import PluginHost

/// A library with a real catalog and originals, and engines on it.
final class EngineFixture {
  let temporary: TemporaryFolder
  let catalog: Catalog
  let reader: CatalogReader
  let originals: FolderStore
  let report = RecordingReport()
  private let incoming: Descriptor
  private var numbers = 0

  init() throws {
    temporary = try TemporaryFolder()
    let root = try Descriptor.openFolder(temporary.path)
    for name: BytePath in ["originals", "incoming", "work", "renditions"] {
      try root.makeFolder(name)
    }
    incoming = try Descriptor.openFolder("incoming", in: root)
    originals = try FolderStore(in: root)
    let file = temporary.appending("catalog.sqlite")
    catalog = try Catalog.create(at: file, libraryID: "test")
    reader = try CatalogReader.open(at: file, immutable: false)
  }

  deinit {
    // Clean-up: the files go with the folder.
    try? reader.close()
    try? catalog.close()
  }

  /// Stores a file and records an asset for it.
  @discardableResult
  func add(_ text: String, name: String? = nil) throws -> AssetID {
    let bytes = Array(text.utf8)
    let digest = SHA256.digest(of: bytes)
    try incoming.writeDurably(bytes, as: "new", mode: 0o444)
    _ = try originals.put([IncomingOriginal(folder: incoming, name: "new", digest: digest)])
    numbers += 1
    let id = try #require(
      AssetID(bytes: [1, 0x8B, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0] + [0, UInt8(numbers)]))
    let name = BytePath(name ?? "\(numbers).jpg")
    try catalog.apply(
      [
        .asset(
          NewAsset(
            id: id, digest: digest, size: bytes.count, name: name, source: "/source", path: name,
            modified: 0, permissions: 0o644, importedAt: .now))
      ], manifestPosition: 0)
    return id
  }

  /// A plan of stages whose plugins are in the test.
  func plan(
    _ stages: [StageConfiguration], _ backends: [any PluginBackend], budget: Int = 1 << 30
  ) throws -> StagePlan {
    var configuration = PipelineConfiguration(
      file: temporary.appending("pipeline.json"), library: temporary.path)
    configuration.stages = stages
    configuration.memoryBudget = ByteSize(bytes: budget)
    let known = Dictionary(uniqueKeysWithValues: backends.map { ($0.manifest.id, $0) })
    let used = stages.compactMap { stage in known[stage.plugin].map { (stage.name, $0) } }
    let named: [String: any PluginBackend] = Dictionary(uniqueKeysWithValues: used)
    return try StagePlan(configuration, backends: named) {
      guard let identify = known["identify"] else {
        throw EngineError(.plugin, "There is no plugin that identifies.")
      }
      return identify
    }
  }

  func engine(
    _ plan: StagePlan, budget: Int = 1 << 30, ledger: (any Ledger)? = nil,
    renditions: (any RenditionStore)? = nil
  ) throws -> Engine {
    let library = try Descriptor.openFolder(temporary.path)
    return try Engine(
      plan, ledger: ledger ?? catalog, originals: originals,
      renditions: renditions ?? RenditionFolder(in: library), library: library,
      memoryBudget: budget, report: report)
  }

  /// Runs everything that is ready, and returns what was told about the jobs.
  @discardableResult
  func run(
    _ stages: [StageConfiguration], _ backends: [any PluginBackend], budget: Int = 1 << 30
  ) throws -> [JobEvent] {
    let before = report.events.count
    let engine = try engine(try plan(stages, backends, budget: budget), budget: budget)
    defer { engine.close() }
    try engine.drain { false }
    return Array(report.events[before...])
  }

  func jobs(of asset: AssetID) throws -> [String: JobRecord] {
    Dictionary(
      uniqueKeysWithValues: try reader.jobs(of: asset).map { ($0.stage, $0) })
  }

  func renditions(of asset: AssetID) throws -> [RenditionRecord] {
    try reader.asset(asset)?.renditions ?? []
  }

  /// The files in `work/` and `renditions/`.
  func files(_ folder: BytePath) throws -> [BytePath] {
    var found: [BytePath] = []
    func visit(_ folder: Descriptor, _ path: BytePath) throws {
      for entry in try folder.entries() {
        let inner = path.appending(entry.name)
        if try folder.status(of: entry.name).kind == .folder {
          try visit(try Descriptor.openFolder(entry.name, in: folder), inner)
        } else {
          found.append(inner)
        }
      }
    }
    try visit(try Descriptor.openFolder(temporary.appending(folder)), folder)
    return found.sorted()
  }
}

extension StageConfiguration {
  /// A stage with a width, as most tests need it.
  static func stage(
    _ name: String, _ plugin: String, needs: [String] = [], width: Int = 2,
    _ change: (inout StageConfiguration) -> Void = { _ in }
  ) -> StageConfiguration {
    var stage = StageConfiguration(name: name, plugin: plugin)
    stage.needs = needs
    stage.concurrency = width
    change(&stage)
    return stage
  }
}

/// Remembers what the engine tells.
final class RecordingReport: EngineReport {
  private let told = Mutex<(events: [JobEvent], held: [String], warnings: [String])>(([], [], []))
  private let lines = Mutex<[String]>([])

  var events: [JobEvent] { told.withLock { $0.events } }
  var held: [String] { told.withLock { $0.held } }
  var warnings: [String] { told.withLock { $0.warnings } }
  var log: [String] { lines.withLock { $0 } }

  func job(_ event: JobEvent) { told.withLock { $0.events.append(event) } }
  func held(stage: String, plugin: String, reason: String) {
    told.withLock { $0.held.append("\(stage): \(reason)") }
  }
  func warning(_ message: String) { told.withLock { $0.warnings.append(message) } }
  func log(stage: String, message: String) { lines.withLock { $0.append("\(stage): \(message)") } }
}
