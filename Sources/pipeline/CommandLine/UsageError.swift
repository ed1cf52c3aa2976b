import Configuration
import PipelineModel

/// An invalid command line.
struct UsageError: Error, Sendable {
  /// A sentence that quotes the offending word.
  let message: String
  /// The verb whose help to suggest.
  let verb: String?

  init(_ message: String, verb: String?) {
    // It quotes the command line, which may contain control characters.
    self.message = BytePath(message).printable
    self.verb = verb
  }

  static func unknownOption(_ name: String, known: [Option], verb: String?) -> UsageError {
    // Every one-letter option resembles every other.
    let names = name.count > 2 ? known.map(\.name) : []
    let meant = NearestName.find(name, among: names).map { " Did you mean \($0)?" } ?? ""
    return UsageError("There is no option “\(name)”.\(meant)", verb: verb)
  }

  static func unknownVerb(_ name: String, known: [String]) -> UsageError {
    let meant = NearestName.find(name, among: known).map { " Did you mean “\($0)”?" } ?? ""
    return UsageError("There is no verb “\(name)”.\(meant)", verb: nil)
  }
}
