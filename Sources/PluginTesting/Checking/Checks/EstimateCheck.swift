import PipelineModel
import PipelinePlugin

/// Its estimates are figures that a machine can have.
struct EstimateCheck: PluginCheck {
  let name = "estimates"

  /// More memory than any job has: a tebibyte.
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
        advice: "Give one for each, in order, and null where there is none.")
    }
    if let figure = figures.compactMap(\.self).first(where: { !(0...Self.most).contains($0) }) {
      throw CheckFailure(
        "It estimates that a job needs \(figure) bytes.",
        advice: "Give bytes of memory, or null where they are not known.")
    }
    guard figures.contains(where: { $0 != nil }) else {
      throw CheckFailure(
        "It gave no figure for any of \(counted(facts.count, "file")).",
        advice: "Set “estimates” to false in the manifest, or make estimates.")
    }
    return .passed("up to \(ByteSize(bytes: figures.compactMap(\.self).max() ?? 0))")
  }
}
