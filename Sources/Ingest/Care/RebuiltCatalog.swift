import Catalog
import PipelineModel

/// Remembers of which sources a rebuilt catalog does not know yet what is in them.
///
/// The manifest does not tell when a file went from its source. So the first look through a source
/// after a rebuild may miss any number of files, and that says nothing.
struct RebuiltCatalog {
  private let catalog: Catalog
  private static let rebuilt = "catalog.rebuilt"
  private static let confirmed = "source.confirmed."

  init(_ catalog: Catalog) { self.catalog = catalog }

  /// Notes that the catalog was made again.
  func note(at time: Timestamp) throws(CatalogError) {
    try catalog.set(Self.rebuilt, to: String(time.microseconds))
  }

  /// Whether what is known of a source is more than what the manifest tells.
  func isConfirmed(_ source: BytePath) throws(CatalogError) -> Bool {
    guard let rebuilt = try catalog.setting(Self.rebuilt) else { return true }
    return try catalog.setting(Self.key(source)) == rebuilt
  }

  /// Notes that a source was looked through from end to end.
  func confirm(_ source: BytePath) throws(CatalogError) {
    try catalog.set(Self.key(source), to: try catalog.setting(Self.rebuilt))
  }

  private static func key(_ source: BytePath) -> String {
    confirmed + Hexadecimal.encode(source.bytes)
  }
}
