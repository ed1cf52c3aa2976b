import Files
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
