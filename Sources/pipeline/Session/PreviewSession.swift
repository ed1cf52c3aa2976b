import Catalog
import Configuration
import Engine
import Ingest
import PipelineModel
import PipelinePlugin
import PluginHost

/// `plan` and `run --dry-run`: reports what a run would do, without locking or changing anything.
struct PreviewSession {
  private let context: Context
  private let setup: LibrarySetup
  private let plan: StagePlan

  init(_ context: Context) throws {
    self.context = context
    setup = try LibrarySetup(context)
    // Check plugins and their options like `run`.
    plan = try StagePlan(
      setup.configuration,
      finder: PluginFinder(configured: setup.configuration.plugins),
      recorded: setup.recordedStages)
  }

  func run() throws -> ExitCode {
    for stage in plan.stages {
      guard let fault = stage.fault else { continue }
      context.console.held(
        stage: stage.name, plugin: stage.configuration.plugin, reason: fault.reason)
    }
    let reading = try openLibrary()
    let preview = Preview(library: reading?.library, catalog: reading?.catalog)
    var paths = 0
    var bytes = 0
    for source in setup.configuration.sources {
      try preview.look(at: source) { path in
        if path.action == .take {
          paths += 1
          bytes += path.bytes
        }
        tell(path)
      }
    }
    let forecast = try Forecast(plan, newFiles: paths, catalog: reading?.catalog)
    sum(files: paths, bytes: bytes, forecast)
    return .success
  }

  private func sum(files: Int, bytes: Int, _ forecast: Forecast) {
    if context.console.isJSON {
      return context.console.event(
        "plan",
        [
          "files": .integer(files), "bytes": .integer(bytes), "jobs": .integer(forecast.jobs),
          "seconds": forecast.seconds.map { .number(($0 * 1000).rounded() / 1000) } ?? .null,
          "renditionBytes": JSONMembers.number(forecast.bytes),
        ])
    }
    var line = "\(counted(files, "file")) (\(ByteSize(bytes: bytes))) would be ingested, "
    line += "\(counted(forecast.jobs, "job")) done"
    if forecast.jobs > 0 {
      if let seconds = forecast.seconds, let bytes = forecast.bytes {
        let rounded = Int(seconds.rounded(.up))
        line += " in about \(counted(rounded, "second")), making \(ByteSize(bytes: bytes))"
      } else {
        line += "; the time they take is unknown before a first run"
      }
    }
    context.console.result(line + ".")
  }

  /// Returns `nil` if the library does not exist yet: `run` would make it.
  private func openLibrary() throws -> ReadingSession? {
    do {
      return try ReadingSession(context)
    } catch let error as IngestError where error.code == .notALibrary {
      return nil
    }
  }

  private func tell(_ path: PreviewedPath) {
    guard context.console.isJSON else {
      if context.console.isQuiet { return }
      let reason = path.reason.map { " (\($0))" } ?? ""
      return context.console.result("\(path.action.rawValue) \(path.path.printable)\(reason)")
    }
    var members: [String: JSONValue] = [
      "action": .string(path.action.rawValue), "bytes": .integer(path.bytes),
      "reason": JSONMembers.text(path.reason),
    ]
    members.merge(JSONMembers.path(path.path)) { $1 }
    context.console.event("planned", members)
  }
}
