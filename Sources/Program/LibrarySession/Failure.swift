import Configuration
import Engine
import Export
import Files
import Ingest
package import LibraryControl
import Manifest
import PipelineModel
import PipelinePlugin
import Query
import Records

/// Any error as messages for users and a code for scripts.
package struct Failure {
  package typealias Kind = RequestFailure.Kind

  /// A stable code for scripts.
  package let code: String
  package let messages: [(message: String, pointer: String?)]
  package let kind: Kind

  /// All messages as one text.
  package var text: String { messages.map(\.message).joined(separator: " ") }

  package init(_ error: any Error) {
    switch error {
    case let error as SessionError:
      self.init("usage", error.message, .usage)
    case let error as ServingError:
      self.init(error.code.rawValue, error.message, error.code == .usage ? .usage : .fatal)
    case let errors as ConfigurationErrors:
      self.init("configuration", errors.errors.map { ($0.description, $0.pointer) }, .usage)
    case let error as ConfigurationError:
      self.init("configuration", [(error.description, error.pointer)], .usage)
    case let error as IngestError:
      self.init("\(error.code)", error.message, error.code == .locked ? .locked : .fatal)
    case let error as PictureError:
      self.init(error.code.rawValue, error.message, error.code == .badRequest ? .usage : .fatal)
    case let error as StageFault:
      self.init("plugin", [(error.message, error.pointer)], .fatal)
    case let error as EngineError:
      let isLocked = (error.cause as? CatalogError)?.code == .locked
      self.init("\(error.code)", error.message, isLocked ? .locked : .fatal)
    case let error as PluginFailure:
      self.init("plugin", error.reason, .fatal)
    case let error as CatalogError where error.code == .noAsset:
      self.init("usage", error.message, .usage)
    case let error as CatalogError:
      self.init("\(error.code)", error.message, error.code == .locked ? .locked : .fatal)
    case let error as ManifestError:
      let isNewer = error.code == .newerVersion
      self.init(isNewer ? "newerVersion" : "manifest", error.message, .fatal)
    case let error as RequestFailure:
      // The holder sends one message per line.
      let lines = error.message.split(separator: "\n").map { (String($0), nil as String?) }
      self.init(error.code, lines, error.kind)
    case let error as ExportError:
      let kind: Kind =
        switch error.code {
        case .layout: .usage
        case .locked: .locked
        case .destination, .noSpace: .fatal
        }
      self.init("\(error.code)", error.message, kind)
    case let error as QueryError:
      self.init("usage", error.message, .usage)
    case let error as FileError:
      self.init("file", error.message, .fatal)
    default:
      self.init("unexpected", "\(error)", .fatal)
    }
  }

  package init(_ code: String, _ message: String, _ kind: Kind) {
    self.init(code, [(message, nil)], kind)
  }

  private init(_ code: String, _ messages: [(message: String, pointer: String?)], _ kind: Kind) {
    self.code = code
    self.messages = messages
    self.kind = kind
  }
}

/// The configuration or the library lacks what was asked for.
package struct SessionError: Error, Sendable {
  package enum Code: Sendable {
    case noConfiguration
    /// No asset, or more than one, has an ID.
    case noAsset
    /// A changed configuration names another library.
    case otherLibrary
    /// No process that works on the library has a name.
    case noProcess
  }

  package let code: Code
  /// A sentence that quotes what was asked for.
  package let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    // It quotes the command line, which may contain control characters.
    self.message = BytePath(message).printable
  }
}

/// Handles a disk of this machine that fills up between two checks of its free space.
///
/// Reopening the library recovers unfinished work, so a daemon waits for space
/// instead of ending.
enum FullDisk {
  /// Whether a full disk is the direct or indirect cause of an error.
  static func isCause(of error: any Error) -> Bool {
    switch error {
    case let error as IngestError: error.code == .noSpace
    case let error as EngineError: error.cause.map(isCause) == true
    case let error as CatalogError: error.code == .noSpace && !error.mayPass
    case let error as ManifestError: error.cause?.code == .noSpace
    case let error as FileError: error.code == .noSpace
    default: false
    }
  }
}
