import PipelineModel
import PipelinePlugin

/// Its memory estimates are plausible.
struct EstimateCheck: PluginCheck {
  let name = "estimates"

  /// More memory than any job gets: a tebibyte.
  private static let most = 1 << 40

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    guard bench.manifest?.estimates == true else {
      return .skipped("the manifest says that it makes none")
    }
    var facts: [[String: JSONValue]] = bench.accepted.map { ["identify": $0.facts] }
    facts.append([:])
    let figures = try bench.startReady().estimate(facts)
    guard figures.count == facts.count else {
      throw CheckFailure(
        "It was asked for \(facts.count) estimates and gave \(figures.count).",
        advice: "Return one for each, in order, and null where there is none.")
    }
    if let figure = figures.compactMap(\.self).first(where: { !(0...Self.most).contains($0) }) {
      throw CheckFailure(
        "It estimates that a job needs \(figure) bytes.",
        advice: "Return bytes of memory, or null if unknown.")
    }
    guard figures.contains(where: { $0 != nil }) else {
      throw CheckFailure(
        "It gave no estimate for any of \(counted(facts.count, "file")).",
        advice: "Set “estimates” to false in the manifest, or return estimates.")
    }
    return .passed("up to \(ByteSize(bytes: figures.compactMap(\.self).max() ?? 0))")
  }
}
