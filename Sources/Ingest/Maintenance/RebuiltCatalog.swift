import Catalog
import PipelineModel

/// Keeps track of the sources whose contents a rebuilt catalog does not know yet.
///
/// The manifest does not record when a file left its source. So the first scan of a source after a
/// rebuild may miss any number of files, which means nothing.
struct RebuiltCatalog {
  private let catalog: Catalog
  private static let rebuilt = "catalog.rebuilt"
  private static let confirmed = "source.confirmed."

  init(_ catalog: Catalog) { self.catalog = catalog }

  /// Records that the catalog was rebuilt.
  func note(at time: Timestamp) throws(CatalogError) {
    try catalog.set(Self.rebuilt, to: String(time.microseconds))
  }

  /// Whether more is known of a source than the manifest records.
  func isConfirmed(_ source: BytePath) throws(CatalogError) -> Bool {
    guard let rebuilt = try catalog.setting(Self.rebuilt) else { return true }
    return try catalog.setting(Self.key(source)) == rebuilt
  }

  /// Records that a source was scanned completely.
  func confirm(_ source: BytePath) throws(CatalogError) {
    try catalog.set(Self.key(source), to: try catalog.setting(Self.rebuilt))
  }

  private static func key(_ source: BytePath) -> String {
    confirmed + Hexadecimal.encode(source.bytes)
  }
}
