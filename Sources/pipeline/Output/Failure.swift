import Catalog
import Configuration
import Engine
import Files
import Ingest
import PipelineModel
import PipelinePlugin

/// Maps any error to messages and an exit code.
struct Failure {
  /// A stable code for scripts.
  let code: String
  let messages: [(message: String, pointer: String?)]
  let exitCode: ExitCode

  init(_ error: any Error) {
    switch error {
    case let error as UsageError:
      let help = error.verb.map { "pipeline \($0) --help" } ?? "pipeline --help"
      self.init("usage", "\(error.message) See `\(help)`.", .usage)
    case let errors as ConfigurationErrors:
      self.init("configuration", errors.errors.map { ($0.description, $0.pointer) }, .usage)
    case let error as ConfigurationError:
      self.init("configuration", [(error.description, error.pointer)], .usage)
    case let error as IngestError:
      self.init("\(error.code)", error.message, error.code == .locked ? .locked : .fatal)
    case let error as StageFault:
      self.init("plugin", [(error.message, error.pointer)], .fatal)
    case let error as EngineError:
      self.init("\(error.code)", error.message, .fatal)
    case let error as PluginFailure:
      self.init("plugin", error.reason, .fatal)
    case let error as CatalogError:
      self.init("\(error.code)", error.message, .fatal)
    case let error as RequestFailure:
      // The holder sends one message per line.
      let lines = error.message.split(separator: "\n").map { (String($0), nil as String?) }
      self.init(error.code, lines, ExitCode(rawValue: error.exitCode) ?? .fatal)
    case let error as FileError:
      self.init("file", error.message, .fatal)
    default:
      self.init("unexpected", "\(error)", .fatal)
    }
  }

  private init(_ code: String, _ message: String, _ exitCode: ExitCode) {
    self.init(code, [(message, nil)], exitCode)
  }

  private init(
    _ code: String, _ messages: [(message: String, pointer: String?)], _ exitCode: ExitCode
  ) {
    self.code = code
    self.messages = messages
    self.exitCode = exitCode
  }

  func print(on console: Console) {
    for (message, pointer) in messages {
      if console.isJSON {
        console.event(
          "error",
          [
            "code": .string(code), "message": .string(message),
            "pointer": JSONMembers.text(pointer),
          ])
      } else {
        console.error("pipeline: \(message)")
      }
    }
  }
}
