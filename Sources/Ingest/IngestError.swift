package import Catalog
package import Files
package import Manifest
package import PipelineModel

/// Why files could not be imported at all.
package struct IngestError: Error, Sendable {
  package enum Code: Hashable, Sendable {
    /// Another process holds the library.
    case locked
    /// The folder is not a library, or one that this program must not touch.
    case notALibrary
    /// A newer version of the program made the library.
    case newerVersion
    /// The catalog is missing, damaged or ahead of the manifest.
    case catalog
    /// The manifest is damaged.
    case manifest
    /// A source is missing or not what it was.
    case source
    /// Less space is free than is kept in reserve.
    case noSpace
    /// The file system refused.
    case file
  }

  package var code: Code
  /// A sentence that includes the remedy.
  package var message: String
  /// The file or folder.
  package var path: BytePath?
  /// The underlying error.
  package var cause: (any Error)?

  package init(
    _ code: Code, _ message: String, path: BytePath? = nil, cause: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.cause = cause
  }

  /// Whether the program was merely asked to stop.
  package var isStopped: Bool { (cause as? FileError)?.code == .stopped }

  package init(_ cause: FileError) {
    self.init(.file, cause.message, path: cause.path, cause: cause)
  }

  package init(_ cause: ManifestError) {
    self.init(
      cause.code == .newerVersion ? .newerVersion : .manifest, cause.message, path: cause.path,
      cause: cause)
  }

  package init(_ cause: CatalogError) {
    self.init(
      cause.code == .newerVersion ? .newerVersion : .catalog, cause.message, path: cause.path,
      cause: cause)
  }
}

/// Runs `body` and converts errors of deeper modules into this module's error.
@discardableResult
func translating<Result>(
  _ body: () throws -> Result
) throws(IngestError) -> Result {
  do {
    return try body()
  } catch let error as IngestError {
    throw error
  } catch let error as FileError {
    throw IngestError(error)
  } catch let error as ManifestError {
    throw IngestError(error)
  } catch let error as CatalogError {
    throw IngestError(error)
  } catch {
    throw IngestError(.file, "\(error)", cause: error)
  }
}
