import Catalog
import Configuration
import Engine
import Ingest
import PipelineModel

/// `run --dry-run`: what a run would do, without a lock and without a change.
struct PreviewSession {
  private let context: Context
  private let surroundings: Surroundings

  init(_ context: Context) throws {
    self.context = context
    surroundings = try Surroundings(context)
    // Plugins and their options are checked as `run` would.
    _ = try StagePlan(
      surroundings.configuration,
      finder: PluginFinder(configured: surroundings.configuration.plugins))
  }

  func run() throws -> ExitCode {
    let reading = try openLibrary()
    let preview = Preview(library: reading?.library, catalog: reading?.catalog)
    var paths = 0
    var bytes = 0
    for source in surroundings.configuration.sources {
      try preview.look(at: source) { path in
        if path.action == .take {
          paths += 1
          bytes += path.bytes
        }
        tell(path)
      }
    }
    let ready = try reading?.catalog.status().jobs.values.reduce(0) { sum, states in
      sum + states[.ready, default: 0] + states[.waiting, default: 0]
    }
    if context.console.isJSON {
      context.console.event(
        "plan",
        ["files": .integer(paths), "bytes": .integer(bytes), "jobs": .integer(ready ?? 0)])
    } else {
      context.console.result(
        "\(counted(paths, "file")) (\(ByteSize(bytes: bytes))) would be taken; "
          + "\(counted(ready ?? 0, "job")) due from earlier.")
    }
    return .success
  }

  /// A library that is not there yet is no error: `run` would make it.
  private func openLibrary() throws -> ReadingSession? {
    do {
      return try ReadingSession(context)
    } catch let error as IngestError where error.code == .notALibrary {
      return nil
    }
  }

  private func tell(_ path: PreviewedPath) {
    guard context.console.isJSON else {
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
