import PipelineModel

/// The content of `library.json`.
package struct LibraryMarker: Codable, Hashable, Sendable {
  /// The version of the on-disk format that this program writes, and the newest it reads.
  package static let currentFormat = 1

  /// The library's identity, a UUID.
  package var library: String
  /// The version of the on-disk format.
  package var format: Int

  package init(library: String, format: Int = LibraryMarker.currentFormat) {
    self.library = library
    self.format = format
  }
}
