/// Suggests the name that a misspelled one probably means.
package enum NearestName {
  /// The most bytes of a name that may be misspelled.
  private static let longest = 256

  /// The nearest known name, or `nil` if none is near enough.
  ///
  /// Near means at most a third of the length in edits, from one to four, but never the whole
  /// name; case is ignored.
  package static func find(_ name: String, among known: some Sequence<String>) -> String? {
    guard name.utf8.count <= longest else { return nil }
    let limit = max(1, min(4, name.count / 3))
    let folded = Array(name.lowercased().unicodeScalars)
    var best: (name: String, distance: Int)?
    for candidate in known {
      let other = Array(candidate.lowercased().unicodeScalars)
      guard abs(other.count - folded.count) <= limit else { continue }
      let distance = distance(folded, other)
      if distance <= limit, distance < folded.count, distance < best?.distance ?? .max {
        best = (candidate, distance)
      }
    }
    return best?.name
  }

  /// The end of a sentence: `; did you mean “x”?` or `; known … are ….`
  package static func hint(_ name: String, among known: [String], kind: String) -> String {
    if let near = find(name, among: known) { return "; did you mean \(quoted(near))?" }
    if known.isEmpty { return "; there are no \(kind)." }
    return "; known \(kind) are \(listed(known.map(quoted)))."
  }

  /// The number of insertions, deletions, replacements and swaps of neighbours that turn one into
  /// the other (optimal string alignment).
  private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for (row, a) in left.enumerated() {
      var current = [row + 1]
      current.reserveCapacity(right.count + 1)
      for (column, b) in right.enumerated() {
        var cost = min(last[column + 1] + 1, current[column] + 1, last[column] + (a == b ? 0 : 1))
        if row > 0, column > 0, a == right[column - 1], left[row - 1] == b {
          cost = min(cost, beforeLast[column - 1] + 1)
        }
        current.append(cost)
      }
      (beforeLast, last) = (last, current)
    }
    return last[right.count]
  }
}
