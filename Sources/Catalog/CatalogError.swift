package import PipelineModel

/// Why the catalog could not be read or written.
package struct CatalogError: Error, Hashable, Sendable {
  /// The kind of error.
  package enum Code: Hashable, Sendable {
    /// The catalog does not exist.
    case missing
    /// The file is damaged or not a catalog.
    case corrupt
    /// A later version of the program made it.
    case newerVersion
    /// The disk is full.
    case noSpace
    /// The file or folder can't be written.
    case readOnly
    /// The attempt has already ended, or the rendition was already replaced.
    case staleToken
    /// Any other SQLite error.
    case database
  }

  /// The kind of error.
  package var code: Code
  /// A sentence that names the operation and, if known, the remedy.
  package var message: String
  /// The catalog's file.
  package var path: BytePath?
  /// SQLite's extended result code.
  package var sqliteCode: Int32?

  /// Makes an error.
  package init(
    _ code: Code, _ message: String, path: BytePath? = nil, sqliteCode: Int32? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.sqliteCode = sqliteCode
  }
}
