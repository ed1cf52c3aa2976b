import Catalog
import Engine
import Ingest
import PipelineModel
import Synchronization

/// Sends a request's events to the process that made it, and counts them.
final class RequestReport: IngestReport, Sendable {
  private struct State {
    var counts = RunReport.Counts()
    var imported: [(asset: AssetID, name: BytePath)] = []
  }

  private let connection: ControlConnection
  private let onCommit: @Sendable () -> Void
  private let state = Mutex(State())
  let start = Timestamp.now

  init(to connection: ControlConnection, onCommit: @escaping @Sendable () -> Void) {
    self.connection = connection
    self.onCommit = onCommit
  }

  /// The imported assets with their file names.
  var imported: [(asset: AssetID, name: BytePath)] { state.withLock { $0.imported } }
  var counts: RunReport.Counts { state.withLock { $0.counts } }
  /// Whether the connection has ended.
  var isOver: Bool { connection.isOver }

  func file(_ event: FileEvent) {
    state.withLock { state in
      state.counts.add(event)
      if event.outcome == .imported, let asset = event.asset {
        state.imported.append((asset, event.path.lastComponent))
      }
    }
    connection.send(.file(event))
  }

  func job(_ event: JobEvent) {
    state.withLock { $0.counts.add(event) }
    connection.send(.job(event))
  }

  func committed() { onCommit() }

  func warning(_ message: String) { connection.send(.warning(message)) }
}
