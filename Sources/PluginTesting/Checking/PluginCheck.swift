/// A requirement that every plugin must meet.
package protocol PluginCheck: Sendable {
  /// What is checked, in one or two words.
  var name: String { get }

  /// Runs the check and returns what it found.
  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote
}

/// The outcome of a check that did not fail.
package enum CheckNote {
  /// The requirement is met, with details.
  case passed(String)
  /// There was nothing to check, with the reason.
  case skipped(String)
}

/// A requirement that the plugin does not meet.
package struct CheckFailure: Error {
  /// What happened, as a sentence.
  package let reason: String
  /// What the plugin's author can do, as a sentence.
  package let advice: String

  init(_ reason: String, advice: String) {
    self.reason = reason
    self.advice = advice
  }
}
