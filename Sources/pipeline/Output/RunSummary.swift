import Catalog
import Engine
import PipelineModel

/// The summary of a run: an event for scripts, a line for users.
struct RunSummary {
  let counts: RunReport.Counts
  let run: AssetID
  let took: Duration

  func print(on console: Console) {
    let seconds = took / .seconds(1)
    if console.isJSON {
      var members = counts.counters.mapValues { JSONValue.integer($0) }
      members["run"] = .string(run.description)
      members["seconds"] = .number((seconds * 1000).rounded() / 1000)
      return console.event("summary", members)
    }
    guard console.isTerminal || console.isVerbose || counts.hasFailures else { return }
    let tenths = (seconds * 10).rounded() / 10
    console.message(parts.joined(separator: ", ") + " in \(tenths) s")
  }

  private var parts: [String] {
    var parts = ["\(counts[.imported]) imported"]
    if counts[.duplicate] > 0 { parts.append(counted(counts[.duplicate], "duplicate")) }
    let others: [(Int, String)] = [
      (counts[.settling], "settling"), (counts[.rejected], "rejected"),
      (counts[Sighting.State.failed], "failed"), (counts[.gone], "gone"),
    ]
    parts += others.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let jobs: [(Int, String)] = [
      (counts[.done], "done"), (counts[.skipped], "skipped"),
      (counts[JobEvent.Outcome.failed], "failed"),
    ]
    let held = counts.heldStages > 0 ? ["\(counted(counts.heldStages, "stage")) waiting"] : []
    return parts + held + jobs.filter { $0.0 > 0 }.map { "\(counted($0.0, "job")) \($0.1)" }
  }
}
