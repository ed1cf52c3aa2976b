package import PipelineModel

/// Why the catalog could not be read or written.
package struct CatalogError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    case missing
    /// The file is damaged or not a catalog.
    case corrupt
    /// The server can't read the bytes of a rendition, although all else may be whole.
    case unreadableBytes
    /// Something else is in the place of the database of renditions.
    case foreign
    /// A later version of the program made it.
    case newerVersion
    case noSpace
    /// Another process, perhaps of another machine, works with the database.
    case locked
    /// The file or folder can't be written.
    case readOnly
    /// The attempt has already ended, or the rendition was already replaced.
    case staleToken
    /// There is no asset with this key any more.
    case noAsset
    /// The catalog does not know the revision: it has another history, or forgot it.
    case unknownRevision
    /// Nobody waits for the result any more.
    case interrupted
    /// The server of the database can't be reached, or not any more.
    case unreachable
    /// Any other error of the database.
    case database
  }

  package var code: Code
  /// A sentence that names the operation and, if known, the remedy.
  package var message: String
  package var path: BytePath?
  /// The database's own code: of SQLite its extended result code.
  package var databaseCode: Int32?
  /// What a server said.
  package var cause: String?

  /// Whether a server that was reached lets this process in only once somebody changes something, such as a password.
  package var isRefusal = false

  /// Whether a server that was reached may do the same later without a change here: it is a standby for now, has no room,
  /// lacks a table, or another session has locked what is needed.
  package var mayPass = false

  package init(
    _ code: Code, _ message: String, path: BytePath? = nil, databaseCode: Int32? = nil,
    mayPass: Bool = false
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.databaseCode = databaseCode
    self.mayPass = mayPass
  }

  package var description: String { message }

  /// The error that there is no asset with a key.
  package static func noAsset(_ id: AssetID) -> CatalogError {
    CatalogError(.noAsset, "There is no asset \(id).")
  }
}
