/// Runs all checks in order.
package struct PluginCheckRun {
  package enum Outcome {
    case passed(String)
    case skipped(String)
    case failed(CheckFailure)
  }

  /// In the order in which a plugin is written: prerequisites of a check come first.
  package static let checks: [any PluginCheck] = [
    HandshakeCheck(), ManifestContentCheck(), OptionsSchemaCheck(), CreationCheck(),
    GoodFilesCheck(), BadFilesCheck(), DeterminismCheck(), EstimateCheck(),
    UnknownMessageCheck(), CancellationCheck(), EndOfInputCheck(), WritingCheck(),
    StandardOutputCheck(),
  ]

  /// Runs all checks; skips the rest if the plugin sends no manifest.
  ///
  /// - Parameter report: called after each check.
  /// - Returns: how many failed.
  package static func run(
    _ bench: CheckBench, report: (any PluginCheck, Outcome) -> Void
  ) -> Int {
    var failed = 0
    for check in checks {
      let outcome = outcome(of: check, bench)
      if case .failed = outcome { failed += 1 }
      report(check, outcome)
    }
    return failed
  }

  private static func outcome(of check: any PluginCheck, _ bench: CheckBench) -> Outcome {
    if bench.manifest == nil, !(check is HandshakeCheck) {
      return .skipped("the plugin sent no manifest")
    }
    do throws(CheckFailure) {
      switch try check.run(bench) {
      case .passed(let note): return .passed(note)
      case .skipped(let reason): return .skipped(reason)
      }
    } catch {
      return .failed(error)
    }
  }
}
