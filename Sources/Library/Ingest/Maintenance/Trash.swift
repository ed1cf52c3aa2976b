import Catalog
import Manifest
package import PipelineModel
import Records

package struct TrashEmptied: Hashable, Sendable {
  /// The number of assets that were deleted permanently.
  package var assets = 0
  /// Bytes of originals that no asset has any more; `gc` removes them.
  package var bytes = 0

  package init(assets: Int = 0, bytes: Int = 0) {
    self.assets = assets
    self.bytes = bytes
  }
}

/// Moves assets to the trash, restores them, and deletes them permanently.
///
/// Each step is recorded in the manifest before the catalog.
package struct Trash {
  private let library: IngestLibrary
  private let report: any IngestReport
  /// The number of assets deleted in a transaction.
  private static let batch = 256

  package init(library: IngestLibrary, report: any IngestReport) {
    self.library = library
    self.report = report
  }

  /// Moves assets to the trash; skips those already there.
  ///
  /// - Returns: the number moved.
  package func trash(_ assets: [AssetID]) throws -> Int {
    let chosen = try chosen(of: assets, inTrash: false)
    let now = Timestamp.now
    try library.record(chosen.map { .trashed(asset: $0) }, at: now) { _ in
      chosen.map { .trashed($0, at: now) }
    }
    return chosen.count
  }

  /// Restores assets from the trash; skips those that are not there.
  ///
  /// - Returns: the number restored.
  package func restore(_ assets: [AssetID]) throws -> Int {
    let chosen = try chosen(of: assets, inTrash: true)
    try library.record(chosen.map { .restored(asset: $0) }, at: .now) { _ in
      chosen.map { .restored($0) }
    }
    // Their jobs may continue.
    report.committed()
    return chosen.count
  }

  /// Empties the trash; the bytes stay until garbage is collected.
  ///
  /// - Parameter time: deletes only what was trashed earlier; everything by default.
  package func empty(
    before time: Timestamp = Timestamp(microseconds: .max), isStopped: () -> Bool = { false }
  ) throws -> TrashEmptied {
    var emptied = TrashEmptied()
    while !isStopped() {
      let batch = try library.reader.trash(limit: Self.batch, before: time)
      if batch.isEmpty { break }
      try library.record(batch.map { .purged(asset: $0.id, digest: $0.digest) }, at: .now) {
        first in
        batch.enumerated().map { .purged($1.id, sequence: first + Int64($0)) }
      }
      emptied.assets += batch.count
      let sizes = Dictionary(batch.map { ($0.digest, $0.size) }, uniquingKeysWith: { $1 })
      for (digest, size) in sizes
      where try !library.catalog.hasOriginal(digest) {
        emptied.bytes += size
        DeletedPictures(library: library).remove(of: digest, report: report)
      }
      try DiscardedFiles(library: library).remove()
    }
    return emptied
  }

  /// Those of some assets that exist and are, or are not, in the trash, each once.
  private func chosen(of all: [AssetID], inTrash: Bool) throws -> [AssetID] {
    var chosen: [AssetID] = []
    for id in all where !chosen.contains(id) {
      let state = try library.reader.asset(id)?.state
      if let state, (state == .trashed) == inTrash { chosen.append(id) }
    }
    return chosen
  }
}
