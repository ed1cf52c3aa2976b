import Files
import PipelineModel
import PipelinePlugin

/// Damaged files get a result, and failures have the right class.
struct BadFilesCheck: PluginCheck {
  let name = "bad files"

  /// How many samples to damage; more take longer and reveal little more.
  private static let mostSamples = 4

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    let samples = bench.accepted.prefix(Self.mostSamples)
    guard !samples.isEmpty else { return .skipped("it accepts none of the files") }
    let plugin = try bench.startReady()
    var count = 0
    for sample in samples {
      for (name, bytes) in sample.damaged {
        let path = try write(bytes, bench)
        let damaged = CheckSample(name: name, path: path, bytes: bytes, facts: sample.facts)
        if case .failed(let failure) = try plugin.process(damaged).result,
          failure.class != .permanent
        {
          throw CheckFailure(
            "For \(name) it failed as \(failure.class.rawValue): \(failure.reason)",
            advice: "Report damaged bytes as “permanent”: other classes are retried, "
              + "or hold the stage for all files.")
        }
        count += 1
      }
    }
    return .passed("each of \(count) got a result")
  }

  private func write(_ bytes: [UInt8], _ bench: CheckBench) throws(CheckFailure) -> BytePath {
    do {
      return try bench.write(bytes, as: "damaged")
    } catch {
      throw CheckFailure(
        "A file for it can't be written. \(error.message)", advice: "Free some space.")
    }
  }
}
