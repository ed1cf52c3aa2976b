/// Where a rendition's bytes are.
package enum RenditionContent: Hashable, Sendable {
  /// In the catalog.
  case database([UInt8])
  /// In a durable file at this path below the library.
  case file(path: String)
}
