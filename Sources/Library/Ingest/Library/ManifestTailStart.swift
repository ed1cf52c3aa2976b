import Catalog
import Manifest
import Records

/// Where a catalog begins to keep lines of the manifest.
struct ManifestTailStart: Hashable {
  /// The fact before.
  var after: Int64
  /// Whether the lines that it has are of no use, because some before or after them are missing.
  var isAnew: Bool

  /// The most facts that are kept at once: those of a library that was never copied may be many millions.
  static let limit: Int64 = 100_000

  /// - Parameters:
  ///   - copied: the last fact that is copied.
  ///   - kept: the facts whose lines the catalog has.
  ///   - newest: the manifest's last fact.
  init(copied: Int64, kept: ClosedRange<Int64>?, newest: Int64) {
    let copied = min(copied, newest)
    let follows = kept.map { $0.lowerBound <= copied + 1 } ?? true
    let wanted = follows ? max(copied, kept?.upperBound ?? 0) : copied
    after = max(wanted, newest - Self.limit)
    isAnew = kept != nil && (!follows || after > wanted)
  }
}

extension Catalog {
  /// Keeps the lines of a manifest after a fact, at once and with all later changes.
  func follow(_ manifest: Manifest, after fact: Int64) throws(CatalogError) {
    try followManifest(after: fact) { fact throws(CatalogError) in
      do throws(ManifestError) {
        return try manifest.lines(after: fact)
      } catch {
        throw CatalogError(.database, error.message, path: error.path)
      }
    }
    if fact < manifest.lastSequence { try apply([], manifestPosition: 0) }
  }
}
