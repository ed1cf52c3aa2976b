import Catalog
import Ingest
import PipelineModel
import Query
import Synchronization

/// The values that assets have of a field, the most frequent first, kept as `KeptCounts` are: to count them may
/// mean to look at each asset, and people ask with each letter that they type.
final class FieldValues: Sendable {
  struct Value: Equatable, Sendable {
    let text: String
    /// As `TextFolding` has it.
    let folded: String
    /// How many assets have it.
    let count: Int
  }

  private let kept = Mutex<[TextField: KeptCounts<[Value], Revision>]>([:])

  /// The most values of a field that are kept: the rarest are left out.
  private static let most = 20_000
  /// The longest value, in bytes: nobody types a longer one.
  private static let longest = 200

  /// The values; none if SQL can't tell them.
  func values(of field: TextField, in library: ReadableLibrary) throws -> [Value] {
    let revision = try library.catalog.revision
    let begun = ContinuousClock.now
    if let shown = kept.withLock({
      $0[field, default: KeptCounts()].shown(at: revision, now: begun)
    }) {
      return shown.counts
    }
    guard let counts = try library.catalog.values(of: field) else { return [] }
    let values = Self.sorted(counts)
    kept.withLock {
      $0[field, default: KeptCounts()].keep(values, of: revision, begun: begun, now: .now)
    }
    return values
  }

  static func sorted(_ counts: [String: Int]) -> [Value] {
    counts.filter { $0.key.utf8.count <= longest }
      .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .prefix(most)
      .map { Value(text: $0.key, folded: TextFolding.fold($0.key), count: $0.value) }
  }
}
