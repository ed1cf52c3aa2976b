import Doctor
import LibrarySession
import PipelineModel

/// `pipeline doctor`: checks whether this machine meets the program's requirements.
enum DoctorVerb: Verb {
  static let name = "doctor"
  static let summary = "Check whether this machine is fit: sandbox, file system, plugins, decoders"
  static let examples = [
    ("pipeline doctor", "a line for each check, with advice"),
    ("pipeline doctor -q", "only what failed; exit code 3 if anything did"),
    ("pipeline doctor --config /etc/pipeline/pipeline.json", "that library's disk and plugins"),
    ("pipeline doctor --json", "a JSON object for each check, and a summary"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    // A signal must not leave a folder behind.
    SignalHandler.shared.listen()
    let site = try DoctorSite(context.search)
    var counts: [Finding.State: Int] = [:]
    for check in doctorChecks {
      if let code = SignalHandler.shared.exitCode { return code }
      for finding in check.run(site) {
        counts[finding.state, default: 0] += 1
        report(finding, context.console)
      }
      // A check can take seconds, so show each result at once.
      context.console.flush()
    }
    if let code = SignalHandler.shared.exitCode { return code }
    summarize(counts, context.console)
    return counts[.failed, default: 0] == 0 ? .success : .someFailed
  }

  private static func report(_ finding: Finding, _ console: Console) {
    if console.isJSON {
      return console.event(
        "check",
        [
          "name": .string(finding.name), "state": .string(finding.state.rawValue),
          "detail": .string(finding.detail), "advice": JSONMembers.text(finding.advice),
        ])
    }
    if console.isQuiet, finding.state != .failed { return }
    let word = finding.state == .failed ? "FAILED" : finding.state.rawValue
    let text = [finding.detail, finding.advice].compactMap(\.self).joined(separator: " ")
    console.result("\(word.padded(to: 7))  \(finding.name.padded(to: 17))  \(text)")
  }

  private static func summarize(_ counts: [Finding.State: Int], _ console: Console) {
    let count = { (state: Finding.State) in counts[state, default: 0] }
    let unknown = count(.unknown) == 0 ? "" : ", \(count(.unknown)) unknown"
    console.summary(
      "summary",
      [
        "ok": .integer(count(.ok)), "warnings": .integer(count(.warning)),
        "failed": .integer(count(.failed)), "unknown": .integer(count(.unknown)),
      ],
      "\(count(.ok)) ok, \(counted(count(.warning), "warning")), \(count(.failed)) failed\(unknown)."
    )
  }
}
