import Catalog
import Files
import Ingest

/// Why a library can't be opened, searched or read.
public struct LibraryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of error it is.
  public enum Code: String, Hashable, Sendable, CaseIterable {
    /// There is no library, or it is still empty.
    case notALibrary
    /// A newer version of the program made it.
    case newerVersion
    /// A predicate or a query that can't be understood; nothing was read.
    case notAQuestion
    /// There is no such asset any more.
    case noAsset
    /// The catalog does not know a revision: it has another history, or forgot it.
    case unknownRevision
    /// An asset has no rendition of a name, or several.
    case noRendition
    /// A picture that can't be, as of a region outside the original.
    case badRequest
    /// No picture can be made: the file is none, can't be decoded, or would need too much.
    case noPicture
    /// The program that makes pictures is missing, or can't work.
    case noProgram
    /// Bytes are missing or damaged.
    case damaged
    /// The catalog or a file can't be read.
    case unreadable
  }

  public let code: Code
  /// A sentence that says what, which and what to do.
  public let message: String

  /// The message.
  public var description: String { message }

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Turns any error of the library's parts into one.
  init(_ error: any Error) {
    switch error {
    case let error as LibraryError: self = error
    case let error as IngestError:
      let codes: [IngestError.Code: Code] = [
        .notALibrary: .notALibrary, .newerVersion: .newerVersion,
      ]
      self.init(codes[error.code] ?? .unreadable, error.message)
    case let error as CatalogError:
      let codes: [CatalogError.Code: Code] = [
        .noAsset: .noAsset, .newerVersion: .newerVersion, .unknownRevision: .unknownRevision,
      ]
      self.init(codes[error.code] ?? .unreadable, error.message)
    case let error as FileError:
      let isDamaged = error.code == .changed || error.code == .notFound
      self.init(isDamaged ? .damaged : .unreadable, error.message)
    default: self.init(.unreadable, "\(error)")
    }
  }
}
