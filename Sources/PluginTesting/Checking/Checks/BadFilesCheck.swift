import Files
import PipelineModel
import PipelinePlugin

/// Damaged files get a result as well, and it is told apart who is to blame.
struct BadFilesCheck: PluginCheck {
  let name = "bad files"

  /// The kinds of files that are damaged; more of them take longer and tell little more.
  private static let mostSamples = 4

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    let samples = bench.accepted.prefix(Self.mostSamples)
    guard !samples.isEmpty else { return .skipped("there is no file that it accepts") }
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
            advice: "What is wrong with the bytes is “permanent”: other classes are tried again, "
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
        "A file for it can't be written. \(error.message)", advice: "Make room for it.")
    }
  }
}
