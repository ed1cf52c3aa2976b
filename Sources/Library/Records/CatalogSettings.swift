/// Texts that are kept with the catalog under keys.
package protocol CatalogSettings: Sendable {
  /// Returns the text stored under a key, or `nil`.
  func setting(_ key: String) throws(CatalogError) -> String?

  /// Stores a text under a key; `nil` removes it.
  func set(_ key: String, to value: String?) throws(CatalogError)
}
