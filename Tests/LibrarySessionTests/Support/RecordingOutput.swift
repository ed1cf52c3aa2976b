import Catalog
import Engine
import Ingest
import LibrarySession
import Records
import Synchronization

/// Records what a session reports.
final class RecordingOutput: SessionOutput {
  private struct State {
    var files: [FileEvent] = []
    var runs: [RunResult] = []
    var texts: [String] = []
  }

  private let state = Mutex(State())
  private let onFile: @Sendable (FileEvent) -> Void
  let showsNotices = false

  init(onFile: @escaping @Sendable (FileEvent) -> Void = { _ in }) { self.onFile = onFile }

  var files: [FileEvent] { state.withLock { $0.files } }
  /// The runs of a watch that have ended.
  var runs: [RunResult] { state.withLock { $0.runs } }
  /// Errors, warnings and messages.
  var texts: [String] { state.withLock { $0.texts } }

  func file(_ event: FileEvent) {
    state.withLock { $0.files.append(event) }
    onFile(event)
  }

  func ended(_ run: RunResult) { state.withLock { $0.runs.append(run) } }

  func survived(_ error: any Error) {
    message(Failure(error).messages.map(\.message).joined(separator: " "))
  }

  func warning(_ message: String) { self.message(message) }
  func message(_ text: String) { state.withLock { $0.texts.append(text) } }

  func job(_ event: JobEvent) {}
  func held(stage: String, plugin: String, reason: String) {}
  func log(stage: String, message: String) {}
  func watch(_ event: WatchEvent) {}
  func repaired(_ event: RepairEvent) {}
  func began(_ work: WorkBeginning) {}
  func waiting(_ notice: String) {}
  func show(_ progress: SessionProgress, of report: RunReport) -> () -> Void { {} }
}
