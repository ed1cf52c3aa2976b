import Ingest
import LibrarySession
import PipelineModel

/// `pipeline plan`: reports what a run would do.
enum PlanVerb: Verb {
  static let name = "plan"
  static let summary = "Say what run would do: files, bytes, jobs, time and space"
  static let examples = [
    ("pipeline plan", "a line for each file, and the totals"),
    ("pipeline plan -q", "only the totals"),
    ("pipeline plan --json", "for scripts; the last object has the totals"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    return try preview(context)
  }

  /// Reports what a run would do, without locking or changing anything.
  static func preview(_ context: Context) throws -> ExitCode {
    let console = context.console
    let forecast = try PreviewSession(context.search).run(output: SessionPrinter(console)) {
      if console.isQuiet, !console.isJSON { return }
      console.planned($0.action.rawValue, $0.path, bytes: $0.bytes, reason: $0.reason)
    }
    summarize(forecast, console)
    return .success
  }

  private static func summarize(_ forecast: Forecast, _ console: Console) {
    if console.isJSON {
      return console.event(
        "plan",
        [
          "files": .integer(forecast.files), "bytes": .integer(forecast.bytes),
          "jobs": .integer(forecast.jobs),
          "seconds": forecast.seconds.map { .number(($0 * 1000).rounded() / 1000) } ?? .null,
          "renditionBytes": JSONMembers.number(forecast.renditionBytes),
        ])
    }
    var line = "\(counted(forecast.files, "file")) (\(ByteSize(bytes: forecast.bytes))) "
    line += "would be imported, \(counted(forecast.jobs, "job")) done"
    if forecast.jobs > 0 {
      if let seconds = forecast.seconds, let bytes = forecast.renditionBytes {
        let rounded = Int(seconds.rounded(.up))
        line += " in about \(counted(rounded, "second")), making \(ByteSize(bytes: bytes))"
      } else {
        line += "; the time they take is unknown before a first run"
      }
    }
    console.result(line + ".")
  }
}
