import Catalog
import Manifest
package import PipelineModel

/// What came of emptying the trash.
package struct TrashEmptied: Hashable, Sendable {
  /// How many assets were deleted for good.
  package var assets = 0
  /// The bytes of originals that no asset has any more, and that `gc` removes.
  package var bytes = 0

  package init(assets: Int = 0, bytes: Int = 0) {
    self.assets = assets
    self.bytes = bytes
  }
}

/// Puts assets into the trash, brings them back, and deletes them for good.
///
/// Each step is a fact of the manifest before it is one of the catalog.
package struct Trash {
  private let library: IngestLibrary
  private let report: any IngestReport
  /// How many assets one transaction deletes.
  private static let batch = 256

  package init(library: IngestLibrary, report: any IngestReport) {
    self.library = library
    self.report = report
  }

  /// Puts assets into the trash; those that are in it stay there.
  ///
  /// - Returns: how many were put there.
  package func trash(_ assets: [AssetID]) throws(IngestError) -> Int {
    let chosen = try chosen(of: assets, inTrash: false)
    let now = Timestamp.now
    try record(chosen.map { .trashed(asset: $0) }, at: now) { _ in
      chosen.map { .trashed($0, at: now) }
    }
    return chosen.count
  }

  /// Brings assets back from the trash; those that are not in it stay as they are.
  ///
  /// - Returns: how many were brought back.
  package func restore(_ assets: [AssetID]) throws(IngestError) -> Int {
    let chosen = try chosen(of: assets, inTrash: true)
    try record(chosen.map { .restored(asset: $0) }, at: .now) { _ in
      chosen.map { .restored($0) }
    }
    // Their jobs may go on.
    report.committed()
    return chosen.count
  }

  /// Deletes what is in the trash; the bytes stay until garbage is collected.
  ///
  /// - Parameters:
  ///   - time: only what was put there before; all by default.
  ///   - isStopped: whether to leave the rest.
  package func empty(
    before time: Timestamp = Timestamp(microseconds: .max), isStopped: () -> Bool = { false }
  ) throws(IngestError) -> TrashEmptied {
    var emptied = TrashEmptied()
    while !isStopped() {
      let batch = try translating { try library.reader.trash(limit: Self.batch, before: time) }
      if batch.isEmpty { break }
      try record(batch.map { .purged(asset: $0.id, digest: $0.digest) }, at: .now) { first in
        batch.enumerated().map { .purged($1.id, sequence: first + Int64($0)) }
      }
      emptied.assets += batch.count
      let sizes = Dictionary(batch.map { ($0.digest, $0.size) }, uniquingKeysWith: { $1 })
      for (digest, size) in sizes
      where try translating({ try !library.catalog.hasOriginal(digest) }) {
        emptied.bytes += size
      }
      try DiscardedFiles(library: library).remove()
    }
    return emptied
  }

  /// Those of some assets that are there, and in the trash or not, each once.
  private func chosen(of all: [AssetID], inTrash: Bool) throws(IngestError) -> [AssetID] {
    var chosen: [AssetID] = []
    for id in all where !chosen.contains(id) {
      let state = try translating { try library.reader.asset(id)?.state }
      if let state, (state == .trashed) == inTrash { chosen.append(id) }
    }
    return chosen
  }

  /// - Parameter changes: given the place of the first fact in the manifest.
  private func record(
    _ facts: [ManifestFact], at time: Timestamp, changes: (Int64) -> [CatalogChange]
  ) throws(IngestError) {
    guard !facts.isEmpty else { return }
    try translating {
      let position = try library.manifest.append(facts, at: time)
      try library.catalog.apply(
        changes(position - Int64(facts.count) + 1), manifestPosition: library.committed(position),
        mark: library.mark)
    }
  }
}
