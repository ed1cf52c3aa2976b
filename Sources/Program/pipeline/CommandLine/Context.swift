import Catalog
import Files
import LibraryControl
import LibrarySession
import PipelineModel

/// What a verb runs with: its arguments, the environment and the console.
struct Context {
  let arguments: Arguments
  let environment: [String: BytePath]
  let workingFolder: BytePath
  let console: Console

  /// The absolute path of a path from the command line.
  func path(_ typed: BytePath) -> BytePath {
    FileSystem.absolutePath(of: typed, in: workingFolder)
  }

  /// Returns a required operand.
  func operand(_ index: Int, _ name: String) throws(UsageError) -> BytePath {
    guard arguments.operands.indices.contains(index) else {
      throw UsageError("\(name) is missing.", verb: arguments.verb)
    }
    return arguments.operands[index]
  }

  func expectOperands(atMost count: Int) throws(UsageError) {
    guard arguments.operands.count > count else { return }
    throw UsageError(
      "“\(arguments.operands[count].printable)” is one argument too many.", verb: arguments.verb)
  }

  /// Where to look for the configuration.
  var search: ConfigurationSearch {
    ConfigurationSearch(
      file: arguments.path(.config), environment: environment, workingFolder: workingFolder)
  }

  /// Opens the library for reading, and closes it again: the last connection to close checkpoints
  /// the catalog's log, so a change that follows must be the last.
  func reading<Result>(_ body: (ReadingSession) throws -> Result) throws -> Result {
    let session = try ReadingSession(search)
    let result = try body(session)
    // Clean-up: whoever closes the catalog next checkpoints it, too.
    try? session.catalog.close()
    return result
  }

  /// Performs a request here, or has the process that holds the library perform it.
  func perform(_ request: LibraryRequest) throws -> RequestResult {
    if let place = try JoinedPlace(search, wait: wait()) {
      SignalHandler.shared.listen()
      return try place.perform(request, output: SessionPrinter(console))
    }
    let library = try ConfiguredLibrary(search, makesLibrary: false)
    return try LibraryAccess(library, wait: wait().duration)
      .perform(request, output: SessionPrinter(console))
  }

  /// Records what an interrupted process had taken, so that it can be found; on the first machine only.
  func recover() throws {
    guard try JoinedPlace(search) == nil else { return }
    let library = try ConfiguredLibrary(search, makesLibrary: false)
    try LibraryAccess(library, wait: wait().duration).recover(output: SessionPrinter(console))
  }

  /// Confirms that items may be deleted for good: on a terminal it always asks; elsewhere a small
  /// number needs no confirmation, and more needs `--yes`.
  ///
  /// - Throws: `UsageError` off a terminal if there are too many items.
  func mayRemove(_ count: Int, _ question: String) throws(UsageError) -> Bool {
    guard count > 0, !arguments.has(.yes) else { return true }
    if console.canAsk { return console.ask(question) { SignalHandler.shared.isStopRequested } }
    return try isSmall(count, "\(question) This can't be undone and")
  }

  /// Confirms a change of many items that can be undone: a small number needs no confirmation, and
  /// more needs an answer on a terminal or `--yes`.
  ///
  /// - Throws: `UsageError` off a terminal if there are too many items.
  func isConfirmed(_ count: Int, _ question: String) throws(UsageError) -> Bool {
    if arguments.has(.yes) { return true }
    if count > Self.mostUnasked, console.canAsk {
      return console.ask(question) { SignalHandler.shared.isStopRequested }
    }
    return try isSmall(count, "\(question) This")
  }

  /// The most items that are changed without a question.
  private static let mostUnasked = 20

  private func isSmall(_ count: Int, _ beginning: String) throws(UsageError) -> Bool {
    guard count > Self.mostUnasked else { return true }
    throw UsageError(
      "\(beginning) affects more than \(Self.mostUnasked): add --yes.", verb: arguments.verb)
  }

  func wait() throws(UsageError) -> TimeSpan {
    try duration(.wait) ?? TimeSpan(milliseconds: 0)
  }

  /// The value of a duration option, or `nil` if it was not given.
  func duration(_ option: Option) throws(UsageError) -> TimeSpan? {
    guard let text = arguments.value(option) else { return nil }
    guard let span = TimeSpan(text) else {
      throw UsageError(
        "“\(text)” is not a duration; write for example 500ms, 30s or 5m.", verb: arguments.verb)
    }
    return span
  }
}
