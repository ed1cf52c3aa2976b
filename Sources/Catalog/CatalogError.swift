package import PipelineModel

/// Why the catalog could not be read or written.
package struct CatalogError: Error, Hashable, Sendable {
  /// What kind of trouble it is.
  package enum Code: Hashable, Sendable {
    /// There is no catalog.
    case missing
    /// The file is damaged or no catalog.
    case corrupt
    /// A later version of the program made it.
    case newerVersion
    /// The disk is full.
    case noSpace
    /// The file or folder can't be written.
    case readOnly
    /// An attempt that has ended, or a rendition that was replaced, already.
    case staleToken
    /// Anything else that SQLite says.
    case database
  }

  /// What kind of trouble it is.
  package var code: Code
  /// A sentence with the operation, and what to do where that is known.
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
