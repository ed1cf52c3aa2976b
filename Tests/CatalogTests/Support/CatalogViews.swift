import PipelineModel
import Records

@testable import Catalog

/// The views for people, compared between the two databases.
enum CatalogViews {
  /// The columns of each view that are not a matter of chance, as the time of an attempt is, or a number in
  /// whose sequence there may be gaps.
  static let all: [(name: String, columns: [String])] = [
    ("asset_state", ["id", "state"]),
    (
      "assets",
      [
        "id", "digest", "size", "name", "source", "path", "modified_at", "permissions",
        "imported_at",
        "trashed_at", "state", "run", "supersedes", "raw_name", "raw_source", "raw_path", "raw_id",
      ]
    ),
    (
      "sightings",
      [
        "source", "path", "state", "reason", "asset", "inode", "size", "modified_at", "changed_at",
        "seen_at", "awaits_removal", "raw_source", "raw_path",
      ]
    ),
    (
      "jobs",
      [
        "asset", "name", "stage", "state", "attempts", "class", "reason", "seconds", "fingerprint",
        "raw_asset",
      ]
    ),
    (
      "renditions",
      [
        "asset", "stage", "name", "media_type", "width", "height", "bytes", "digest", "made_from",
        "storage", "path", "stale", "raw_asset",
      ]
    ),
    (
      "attempts",
      [
        "asset", "stage", "id", "outcome", "class", "reason", "seconds", "suspect", "runtime",
        "limits",
      ]
    ),
    ("facts", ["asset", "stage", "key", "value", "type", "raw_asset"]),
    (
      "metadata", ["asset", "stage", "family", "name", "ordinal", "language", "value", "raw_asset"]
    ),
    ("annotations", ["asset", "property", "text", "applies", "raw_asset"]),
    ("failures", ["asset", "name", "stage", "class", "reason", "attempts", "raw_asset"]),
    ("runs", ["id", "verb", "started_at", "ended_at", "counters", "raw_id"]),
  ]

  /// The rows of a view as text, sorted. Numbers are written alike, and a text that is no UTF-8 is left out.
  static func rows(
    _ catalog: Catalog, _ view: String, _ columns: [String]
  ) throws -> [[String]] {
    try catalog.read { (connection) throws(CatalogError) in
      try connection.all("SELECT \(columns.joined(separator: ", ")) FROM \(view)") { row in
        columns.indices.map { column in
          if row.isNull(column) { return "NULL" }
          if columns[column].hasPrefix("raw_") || view == "asset_state" && column == 0 {
            return Hexadecimal.encode(row.blob(column))
          }
          let text = row.text(column)
          // Octal numbers there, U+FFFD here.
          let isBroken = columns[column] != "value" && columns[column] != "text"
          if isBroken, text.contains("\u{FFFD}") || text.contains("\\") { return "not UTF-8" }
          return Double(text).map { "\($0)" } ?? text
        }
      }
    }.sorted { $0.lexicographicallyPrecedes($1) }
  }
}
