import Compression
import PipelineModel
import Records
import Synchronization

/// What was answered to questions for all assets of a search, for as long as nothing changes.
final class OutlineCache: Sendable {
  struct Entry: Sendable {
    let revision: Revision
    /// The entity tag. Not the revision, because the time or a saved search changes some answers.
    let tag: String
    /// How many assets there are.
    let count: Int
    /// The keys of every `AssetOutline.stride`th, beginning with the first.
    let keys: [AssetID]
    let plain: ResponseBytes
    /// `nil` if it is no shorter.
    let packed: ResponseBytes?
    fileprivate let madeAt = ContinuousClock.now
    fileprivate var usedAt = ContinuousClock.now

    init(revision: Revision, of outline: AssetOutline, bytes: [UInt8]) {
      self.revision = revision
      (count, keys) = (outline.count, outline.keys)
      tag = ContentTag.of(bytes)
      plain = ResponseBytes(bytes)
      packed = Zlib.gzip(bytes).flatMap { $0.count < bytes.count ? ResponseBytes($0) : nil }
    }

    fileprivate var size: Int { plain.count + (packed?.count ?? 0) }
  }

  private let state = Mutex<[GallerySearch: Entry]>([:])

  /// The most bytes of answers that are kept, and the most answers: a question has up to 8 KiB itself.
  private static let most = 48 << 20
  private static let mostEntries = 64
  /// For how long an answer to a question such as `taken:today` holds.
  private static let patience = Duration.seconds(60)

  func entry(for search: GallerySearch, at revision: Revision) -> Entry? {
    state.withLock { entries in
      guard let entry = entries[search], entry.revision == revision,
        !search.dependsOnTime || ContinuousClock.now - entry.madeAt < Self.patience
      else { return nil }
      entries[search]?.usedAt = .now
      return entry
    }
  }

  /// As above, but only what tells places exactly: without a query, nothing but the catalog counts.
  func exactEntry(for search: GallerySearch, at revision: Revision) -> Entry? {
    search.dependsOnTime ? nil : entry(for: search, at: revision)
  }

  func keep(_ entry: Entry, for search: GallerySearch) {
    state.withLock { entries in
      entries = entries.filter { $0.value.revision == entry.revision }
      entries[search] = entry
      var sum = entries.values.reduce(0) { $0 + $1.size }
      while sum > Self.most || entries.count > Self.mostEntries,
        let oldest = entries.min(by: { $0.value.usedAt < $1.value.usedAt })
      {
        sum -= oldest.value.size
        entries[oldest.key] = nil
      }
    }
  }
}
