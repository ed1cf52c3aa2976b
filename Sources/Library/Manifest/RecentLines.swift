import PipelineModel

/// The lines that were appended last, so that who follows a journal need not read its files.
struct RecentLines {
  /// What was appended at once, in order; `nil` as long as nobody follows.
  private var appended: [ManifestLines]?
  private var bytes = 0

  /// The most bytes kept for a follower that does not come.
  static let limit = 8 << 20

  mutating func append(_ lines: ManifestLines) {
    guard let appended else { return }
    // A failed append may have left lines in the files that are not here.
    if let last = appended.last, last.last != lines.first - 1 { removeAll() }
    self.appended?.append(lines)
    bytes += lines.bytes.count
    if bytes > Self.limit { removeAll() }
  }

  private mutating func removeAll() {
    appended = []
    bytes = 0
  }

  /// Returns the lines after a fact, and forgets all up to that; `nil` if they don't begin right there.
  mutating func take(after sequence: Int64) -> ManifestLines? {
    let rest = (appended ?? []).drop { $0.last <= sequence }
    appended = Array(rest)
    bytes = rest.reduce(0) { $0 + $1.bytes.count }
    guard let first = rest.first, let last = rest.last, first.first == sequence + 1 else {
      return nil
    }
    return ManifestLines(
      first: first.first, last: last.last, bytes: Array(rest.map(\.bytes).joined()))
  }
}
