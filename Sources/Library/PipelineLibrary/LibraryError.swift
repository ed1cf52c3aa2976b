import Files
import Ingest
import LibraryControl
import Records

/// Why a library can't be opened, searched, read or changed.
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
    /// A change that can't be made, such as an empty tag, or too many at once; nothing was done.
    case notAnEdit
    /// Another process holds the library and takes no requests; nothing was done.
    case locked
    /// The library can't be written; nothing was done.
    case notWritten
    /// A change is in the journal and not in the catalog yet; opening the library completes it.
    case unfinished
    /// The process that was asked for a change ended before it answered: all or nothing was done.
    case interrupted
    /// The task was cancelled; nothing was done.
    case cancelled
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
        .notALibrary: .notALibrary, .newerVersion: .newerVersion, .locked: .locked,
        .noSpace: .notWritten, .file: .notWritten,
      ]
      self.init(codes[error.code] ?? .unreadable, error.message)
    case let error as CatalogError:
      let codes: [CatalogError.Code: Code] = [
        .noAsset: .noAsset, .newerVersion: .newerVersion, .unknownRevision: .unknownRevision,
        .noSpace: .notWritten, .interrupted: .cancelled, .locked: .locked,
      ]
      self.init(codes[error.code] ?? .unreadable, error.message)
    case let error as FileError:
      let isDamaged = error.code == .changed || error.code == .notFound
      self.init(isDamaged ? .damaged : .unreadable, error.message)
    case let error as RequestFailure:
      let codes: [String: Code] = [
        RequestFailure.unfinished: .unfinished, RequestFailure.interrupted: .interrupted,
        RequestFailure.noAsset: .noAsset,
        "usage": .notAnEdit, "locked": .locked, "version": .newerVersion,
      ]
      self.init(codes[error.code] ?? .notWritten, error.message)
    default: self.init(.unreadable, "\(error)")
    }
  }

  static let cancelled = LibraryError(
    .cancelled, "The task was cancelled, so nothing was done.")
}
