import Configuration
import PipelineModel

/// A command line that can't be followed.
struct UsageError: Error, Sendable {
  /// A sentence that quotes the word in question.
  let message: String
  /// The verb whose help is of use.
  let verb: String?

  init(_ message: String, verb: String?) {
    // It quotes words of the command line, which may hold anything.
    self.message = BytePath(message).printable
    self.verb = verb
  }

  static func unknownOption(_ name: String, known: [Option], verb: String?) -> UsageError {
    // Between one-letter options everything is near.
    let names = name.count > 2 ? known.map(\.name) : []
    let meant = NearestName.find(name, among: names).map { " Did you mean \($0)?" } ?? ""
    return UsageError("There is no option “\(name)”.\(meant)", verb: verb)
  }

  static func unknownVerb(_ name: String, known: [String]) -> UsageError {
    let meant = NearestName.find(name, among: known).map { " Did you mean “\($0)”?" } ?? ""
    return UsageError("There is no verb “\(name)”.\(meant)", verb: nil)
  }
}
