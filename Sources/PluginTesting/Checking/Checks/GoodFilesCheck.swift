import PipelineModel
import PipelinePlugin

/// Accepted files get a result, and at least one is done.
struct GoodFilesCheck: PluginCheck {
  let name = "good files"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    let samples = bench.accepted
    let accepts = bench.manifest?.accepts?.joined(separator: ", ") ?? ""
    guard !samples.isEmpty else {
      throw CheckFailure(
        "It accepts \(accepts), but there is no such file to check it with.",
        advice: "Name a folder with files that it accepts: --files DIR.")
    }
    let plugin = try bench.startReady()
    var counts = (done: 0, skipped: 0, failed: 0)
    var lastReason = ""
    for sample in samples {
      switch try plugin.process(sample).result {
      case .done(let facts, let renditions):
        counts.done += 1
        try check(facts, renditions, of: sample, bench)
      case .skipped(let reason):
        counts.skipped += 1
        lastReason = reason
      case .failed(let failure):
        counts.failed += 1
        lastReason = failure.reason
        try check(failure, sample)
      }
    }
    guard counts.done > 0 else {
      throw CheckFailure(
        "None of the \(counted(samples.count, "file")) that it accepts was done. The last reason: "
          + lastReason,
        advice: "Correct it, or name a folder with files that it can work on: --files DIR.")
    }
    return .passed("\(counts.done) done, \(counts.skipped) skipped, \(counts.failed) failed")
  }

  private func check(
    _ facts: JSONValue, _ renditions: [PluginRendition], of sample: CheckSample,
    _ bench: CheckBench
  ) throws(CheckFailure) {
    let known = Set(bench.manifest?.facts ?? [])
    if let fact = (facts.object ?? [:]).keys.sorted().first(where: { !known.contains($0) }) {
      throw CheckFailure(
        "For \(sample.name) it found the fact “\(fact)”, which its manifest does not name.",
        advice: "Name all facts under “facts” in the manifest.")
    }
    guard renditions.isEmpty || bench.manifest?.makesRenditions == true else {
      throw CheckFailure(
        "For \(sample.name) it made renditions, but its manifest says that it makes none.",
        advice: "Set “makesRenditions” to true in the manifest.")
    }
  }

  private func check(_ failure: PluginFailure, _ sample: CheckSample) throws(CheckFailure) {
    guard failure.class == .environment else { return }
    throw CheckFailure(
      "For \(sample.name) it reports that the machine lacks something: \(failure.reason)",
      advice: "Install what it lacks. If the file is to blame, use the class “permanent”: "
        + "“environment” holds the stage for all files.")
  }
}
