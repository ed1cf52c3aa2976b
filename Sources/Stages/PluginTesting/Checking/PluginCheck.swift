import Files

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

  /// Returns what a file operation does; its error follows the reason.
  static func unless<Result>(
    _ operation: @autoclosure () throws(FileError) -> Result, _ reason: String, advice: String
  ) throws(CheckFailure) -> Result {
    do throws(FileError) {
      return try operation()
    } catch {
      throw CheckFailure("\(reason) \(error.message)", advice: advice)
    }
  }
}

/// Runs all checks in order.
package struct PluginCheckRun {
  package typealias Outcome = Result<CheckNote, CheckFailure>

  /// In the order in which a plugin is written: prerequisites of a check come first.
  package static let checks: [any PluginCheck] = [
    HandshakeCheck(), ManifestContentCheck(), OptionsSchemaCheck(), CreationCheck(),
    GoodFilesCheck(), BadFilesCheck(), DeterminismCheck(), PartsCheck(),
    EstimateCheck(), UnknownMessageCheck(), CancellationCheck(), EndOfInputCheck(), WritingCheck(),
    StandardOutputCheck(),
  ]

  /// Runs all checks; skips the rest if the plugin sends no manifest.
  ///
  /// - Parameter report: called after each check.
  /// - Returns: how many failed.
  package static func run(_ bench: CheckBench, report: (any PluginCheck, Outcome) -> Void) -> Int {
    var failed = 0
    for check in checks {
      let outcome = outcome(of: check, bench)
      if case .failure = outcome { failed += 1 }
      report(check, outcome)
    }
    return failed
  }

  private static func outcome(of check: any PluginCheck, _ bench: CheckBench) -> Outcome {
    if bench.manifest == nil, !(check is HandshakeCheck) {
      return .success(.skipped("the plugin sent no manifest"))
    }
    return Result { () throws(CheckFailure) in try check.run(bench) }
  }
}
