import Engine
import Ingest

/// A verb's request, performed here or by the process that holds the library.
struct RequestSession {
  private let context: Context

  init(_ context: Context) { self.context = context }

  /// Performs the request; reports files and jobs on the context's console.
  func perform(_ request: LibraryRequest) throws -> RequestResult {
    try LibraryAccess(context, makesLibrary: false).perform { locked in
      let session = try WorkingSession(context, locked)
      SignalHandler.shared.listen()
      let result = try RequestHandler(session).perform(request, report: session.report) {
        SignalHandler.shared.isStopRequested
      }
      if case .repair = request { try makeAgain(session) }
      try session.library.close()
      return result
    } remotely: { client in
      try client.ask(request, report: RunReport(console: context.console))
    }
  }

  /// Runs the jobs that a repair made due; a holder runs them anyway.
  private func makeAgain(_ session: WorkingSession) throws {
    defer { session.engine.close() }
    try session.engine.drain { SignalHandler.shared.isStopRequested }
    guard SignalHandler.shared.isStopRequested else { return }
    session.engine.stop(deadline: ContinuousClock().now + .seconds(8))
  }
}
