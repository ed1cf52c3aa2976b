/// One thing that every plugin must do, whatever it is for.
package protocol PluginCheck: Sendable {
  /// What is checked, in a word or two.
  var name: String { get }

  /// Checks it.
  ///
  /// - Returns: what was seen.
  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote
}

/// What a check that did not fail has seen.
package enum CheckNote {
  /// All is well, and how that was seen.
  case passed(String)
  /// There was nothing to check, and why.
  case skipped(String)
}

/// What a plugin does not do as it must.
package struct CheckFailure: Error {
  /// What happened, as a sentence.
  package let reason: String
  /// What its author can do.
  package let advice: String

  init(_ reason: String, advice: String) {
    self.reason = reason
    self.advice = advice
  }
}
