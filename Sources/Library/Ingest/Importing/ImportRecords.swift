import Catalog
import Manifest
package import PipelineModel
import Records

/// Where imports and returns are recorded: first in the manifest, then in the catalog.
protocol ImportRecords: AnyObject {
  /// Whether others make and delete assets, too, so that `write` needs to know which were seen.
  var comparesAssets: Bool { get }

  /// Makes known, durably, what is about to be imported or returned.
  ///
  /// - Returns: the manifest's position before that.
  func announce(_ intents: [ManifestFact]) throws -> Int64

  /// Makes facts durable in the manifest.
  ///
  /// - Parameter seen: the assets with the bytes of these facts, as they were when the facts were decided on.
  /// - Returns: the position for `apply`.
  /// - Throws: `OvertakenImport` if those assets are others by now, or one can't be returned any more.
  func write(_ facts: [ManifestFact], at time: Timestamp, seen: SeenAssets) throws -> Int64

  /// Records in the catalog what is in the manifest up to a position, with changes that are not.
  func apply(_ changes: [CatalogChange], upTo position: Int64) throws

  /// Notes that of announced returns it is recorded what became of them.
  func endReturns(of assets: Set<AssetID>) throws

  /// Leaves an import open, so that the next start completes it: the catalog's position stays at or before a fact.
  func hold(position: Int64)

  /// Whether imports can be recorded now.
  func isAvailable() throws -> Bool
}

/// Others changed the assets that an import or return was decided on; it is to be decided on once more.
struct OvertakenImport: Error {}

/// The assets with some bytes, as they were found.
package struct SeenAssets: Codable, Hashable, Sendable {
  package struct Seen: Codable, Hashable, Sendable {
    package var asset: AssetID
    package var isTrashed: Bool
  }

  /// By the digest of the bytes, in hexadecimal digits.
  package private(set) var assets: [String: [Seen]] = [:]

  package init() {}

  /// Finds the assets with some bytes; finds them once.
  mutating func look(for digest: Digest, in catalog: Catalog) throws(CatalogError) {
    guard assets[digest.hex] == nil else { return }
    assets[digest.hex] = try Self.find(digest, in: catalog)
  }

  /// Whether the assets are those that are there now.
  func isCurrent(in catalog: Catalog) throws(CatalogError) -> Bool {
    for (text, seen) in assets {
      guard let digest = Digest(text), try Self.find(digest, in: catalog) == seen else {
        return false
      }
    }
    return true
  }

  private static func find(_ digest: Digest, in catalog: Catalog) throws(CatalogError) -> [Seen] {
    try catalog.assetsWithTrash(with: digest).map { Seen(asset: $0.id, isTrashed: $0.isTrashed) }
  }
}

/// The records of a library whose lock this process has: it writes the manifest itself.
final class ManifestRecords: ImportRecords {
  private let manifest: Manifest
  private let catalog: Catalog
  /// The position the catalog must not pass, because an import after it could not be completed.
  private var heldPosition: Int64?
  /// Whether a change of the catalog failed whose facts are in the manifest.
  private var lacksFacts = false
  /// Called before imports are recorded, until it returns true.
  var beforeImports: (() throws -> Bool)?

  var comparesAssets: Bool { false }

  init(manifest: Manifest, catalog: Catalog) {
    self.manifest = manifest
    self.catalog = catalog
  }

  func announce(_ intents: [ManifestFact]) throws -> Int64 {
    if let beforeImports, try beforeImports() { self.beforeImports = nil }
    return try manifest.append(intents) - Int64(intents.count)
  }

  func write(_ facts: [ManifestFact], at time: Timestamp, seen: SeenAssets) throws -> Int64 {
    try manifest.append(facts, at: time)
  }

  func apply(_ changes: [CatalogChange], upTo position: Int64) throws {
    try catalog.apply(changes, manifestPosition: committed(position), mark: mark)
  }

  func endReturns(of assets: Set<AssetID>) {}

  func hold(position: Int64) {
    heldPosition = min(position, heldPosition ?? position)
  }

  func isAvailable() -> Bool { true }

  /// Whether an import or return could not be completed yet.
  var hasInterruptedWork: Bool { heldPosition != nil }

  /// The position that the catalog may record after a commit.
  func committed(_ position: Int64) -> Int64 { min(position, heldPosition ?? position) }

  /// What the catalog stores of the manifest's last fact.
  var mark: String? { manifest.lastMark?.description }

  /// Whether the manifest has facts that the catalog should have by now but lacks: something failed
  /// in between, and only recovery can fix that.
  func isBehind() throws -> Bool {
    let position = try catalog.manifestPosition
    return lacksFacts || position < committed(manifest.lastSequence)
  }

  /// Records facts in the manifest, and then their changes in the catalog.
  ///
  /// - Parameters:
  ///   - asTransaction: whether a kill may leave none or all of them, but not some.
  ///   - changes: receives the sequence number of the first fact.
  /// - Returns: the number of jobs that were made ready again.
  func record(
    _ facts: [ManifestFact], at time: Timestamp, asTransaction: Bool,
    changes: (Int64) -> [CatalogChange]
  ) throws -> Int {
    guard !facts.isEmpty else { return 0 }
    let position = try manifest.append(facts, at: time, asTransaction: asTransaction)
    let lackedFacts = lacksFacts
    // While an import is held, the catalog's position does not tell.
    lacksFacts = true
    let count = try catalog.apply(
      changes(position - Int64(facts.count) + 1), manifestPosition: committed(position),
      mark: mark)
    lacksFacts = lackedFacts
    return count
  }
}
