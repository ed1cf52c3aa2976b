import PipelineModel

/// The longest paths that a catalog can record, and a warning of each that is longer.
///
/// Confined to the thread that imports.
package final class PathLimit {
  /// The most bytes of a path relative to its source, for a catalog in PostgreSQL: an entry of an index
  /// has at most 2,704 bytes, with a few for other columns. Source: `BTMaxItemSize` of PostgreSQL.
  package static let longestPath = 2_600
  /// The same of a source: a setting has it in the name, as hexadecimal digits.
  package static let longestSource = 1_300

  private let warn: (String) -> Void
  private var told: Set<BytePath> = []
  /// How many paths are named; a source may have any number.
  private static let mostTold = 20

  /// - Parameter warn: receives a sentence for each path, once.
  package init(warn: @escaping (String) -> Void) { self.warn = warn }

  /// Whether a path can be recorded; warns if not.
  func admits(_ path: BytePath) -> Bool {
    if path.bytes.count <= Self.longestPath { return true }
    guard told.count <= Self.mostTold, told.insert(path).inserted else { return false }
    warn(
      told.count > Self.mostTold
        ? "More paths are longer than \(Self.longestPath) bytes, and are left out as well."
        : Self.reason(path))
    return false
  }

  /// Why a path is left out, with its beginning.
  static func reason(_ path: BytePath) -> String {
    "A path of \(path.bytes.count) bytes is left out, because a catalog in PostgreSQL has at most "
      + "\(longestPath): “\(BytePath(bytes: Array(path.bytes.prefix(80))).printable)…”."
  }
}
