import PipelineModel
import PipelinePlugin

/// The same bytes produce the same facts and files in any process and order.
struct DeterminismCheck: PluginCheck {
  let name = "same result"

  private static let mostSamples = 20

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    let samples = Array(bench.accepted.prefix(Self.mostSamples))
    guard !samples.isEmpty else { return .skipped("it accepts none of the files") }
    let first = try results(of: samples, bench)
    let second = try results(of: samples.reversed(), bench).reversed()
    for (sample, (one, other)) in zip(samples, zip(first, second)) {
      if let difference = difference(one, other) {
        throw CheckFailure(
          "For \(sample.name) it gave two results: \(difference).",
          advice: "Don't depend on the time, random numbers, paths or earlier jobs. A finished job "
            + "never runs again, so its result must not depend on when it ran.")
      }
    }
    return .passed("\(counted(samples.count, "file")), twice, in two processes")
  }

  private func results(
    of samples: [CheckSample], _ bench: CheckBench
  ) throws(CheckFailure) -> [CheckedPlugin.Job] {
    let plugin = try bench.startReady()
    var jobs: [CheckedPlugin.Job] = []
    for sample in samples { jobs.append(try plugin.process(sample)) }
    return jobs
  }

  private func difference(_ one: CheckedPlugin.Job, _ other: CheckedPlugin.Job) -> String? {
    switch (one.result, other.result) {
    case (.done(let facts, let renditions), .done(let otherFacts, let otherRenditions)):
      let names = Set((facts.object ?? [:]).keys).union((otherFacts.object ?? [:]).keys)
      if let name = names.sorted().first(where: { facts[$0] != otherFacts[$0] }) {
        // Decoded from JSON, so it can be encoded.
        let values = [facts, otherFacts].map { value in
          value[name].flatMap { try? JSONText.encode($0) } ?? "nothing"
        }
        return "the fact “\(name)” is \(values[0]) and \(values[1])"
      }
      if renditions != otherRenditions { return "renditions have different names, types or sizes" }
      for (rendition, digests) in zip(renditions, zip(one.renditions, other.renditions))
      where digests.0 != digests.1 {
        return "the rendition “\(rendition.name)” has different bytes"
      }
      return nil
    case (.skipped, .skipped): return nil
    case (.failed(let failure), .failed(let otherFailure)):
      return failure.class == otherFailure.class ? nil : "failures of different classes"
    default: return "different outcomes"
    }
  }
}
