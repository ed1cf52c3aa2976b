/// All checks, one after the other.
package struct PluginCheckRun {
  /// What came of one check.
  package enum Outcome {
    case passed(String)
    case skipped(String)
    case failed(CheckFailure)
  }

  /// In the order in which a plugin is written: what a check needs was checked before.
  package static let checks: [any PluginCheck] = [
    HandshakeCheck(), ManifestContentCheck(), OptionsSchemaCheck(), CreationCheck(),
    GoodFilesCheck(), BadFilesCheck(), DeterminismCheck(), EstimateCheck(),
    UnknownMessageCheck(), CancellationCheck(), EndOfInputCheck(), WritingCheck(),
    StandardOutputCheck(),
  ]

  /// Runs them.
  ///
  /// Without a manifest nothing else can be asked for, so the rest is then skipped.
  ///
  /// - Parameter report: is told of each check at its end.
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
      return .skipped("the plugin did not say what it is")
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
