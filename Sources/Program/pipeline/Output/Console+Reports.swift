import Catalog
import LibraryControl
import LibrarySession
import PipelineModel
import Query

extension Console {
  /// Ends a list with a total, on a terminal or if the list needs attention.
  ///
  /// - Parameter isTrouble: whether the list is of failures.
  func total(_ text: String, isTrouble: Bool = false) {
    guard !isJSON, isTerminal || isTrouble else { return }
    // The list comes first if both go to the same place.
    flush()
    message(text)
  }

  /// Reports the result of a verb, as an event or, on a terminal, as a sentence.
  ///
  /// - Parameter isDryRun: whether nothing was changed, so the sentence is the result.
  func summary(
    _ event: String, _ members: [String: JSONValue], _ sentence: String, isDryRun: Bool = false
  ) {
    if isJSON {
      var members = members
      if isDryRun { members["dryRun"] = true }
      self.event(event, members)
    } else if isDryRun {
      result(sentence)
    } else if isTerminal || isVerbose {
      message(sentence)
    }
  }

  /// Reports what a verb would do with a path.
  func planned(
    _ action: String, _ path: BytePath, bytes: Int, reason: String?,
    _ more: [String: JSONValue] = [:]
  ) {
    guard isJSON else {
      return result("\(action) \(path.printable)\(reason.map { " (\($0))" } ?? "")")
    }
    var members = more
    members["action"] = .string(action)
    members["bytes"] = .integer(bytes)
    members["reason"] = JSONMembers.text(reason)
    members.merge(JSONMembers.path(path)) { $1 }
    event("planned", members)
  }

  /// Reports a number of things that were changed, or would be.
  func summary(_ event: String, _ count: Int, _ noun: String, _ done: String, isDryRun: Bool) {
    let what = isDryRun ? "would be \(done)" : done
    summary(
      event, ["\(noun)s": .integer(count)], "\(counted(count, noun)) \(what).",
      isDryRun: isDryRun)
  }
}

extension String {
  /// The text, with spaces appended up to a width.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}

extension Console {
  /// Prints an error.
  ///
  /// - Returns: the exit code of a verb that ends with it.
  @discardableResult
  func failure(_ error: any Error) -> ExitCode {
    let failure = Failure(describing: error)
    for (message, pointer) in failure.messages {
      if isJSON {
        event(
          "error",
          [
            "code": .string(failure.code), "message": .string(message),
            "pointer": JSONMembers.text(pointer),
          ])
      } else {
        self.error("pipeline: \(message)")
      }
    }
    return switch failure.kind {
    case .fatal: .fatal
    case .usage: .usage
    case .locked: .locked
    }
  }
}

extension Failure {
  /// Adds to errors of the command line where to find help.
  fileprivate init(describing error: any Error) {
    let (message, help): (String, String)
    switch error {
    case let error as UsageError:
      let verb = error.verb.map { " \($0)" } ?? ""
      (message, help) = (error.message, "pipeline\(verb) --help")
    case let error as QueryError:
      (message, help) = (error.message.printable, "pipeline help query")
    case let error as SessionError: (message, help) = (error.message, "pipeline --help")
    default:
      self.init(error)
      return
    }
    self.init("usage", "\(message) See `\(help)`.", .usage)
  }
}

extension SignalHandler {
  /// The exit code for the signal received, if any.
  var exitCode: ExitCode? { signal.flatMap { ExitCode(rawValue: 128 + $0) } }
}

extension Console {
  /// Waits for another program's transaction on the catalog from now on, and warns of it.
  ///
  /// - Parameter bound: the longest wait; `nil` to wait until a signal.
  func warnOfBusyCatalog(waitingAtMost bound: Duration?) {
    CatalogLocks.busyHandler = ReportingBusyHandler(bound: bound) { self.warning($0) }
  }
}
