import Catalog
import LibraryControl
import PipelineModel
import Records
import Synchronization

/// The requests of other machines, which come by the database and wait until the main thread serves them.
final class RemoteRequests: Sendable {
  private let catalog: Catalog
  /// Whether there may be some. One may have come before this process.
  private let mayHave = Atomic(true)

  // In a struct: see `RunReport`.
  private struct Listener {
    var body: @Sendable () -> Void = {}
  }

  private let listener = Mutex(Listener())

  init(catalog: Catalog) { self.catalog = catalog }

  /// Sets what is called, on any thread, when some may have come.
  func onArrival(_ body: @escaping @Sendable () -> Void) {
    listener.withLock { $0 = Listener(body: body) }
  }

  /// Notes that others have told of something.
  func hear() {
    mayHave.store(true, ordering: .sequentiallyConsistent)
    // Copied first, so that it is not called under the lock.
    let body = listener.withLock { $0.body }
    body()
  }

  var mayHaveRequests: Bool { mayHave.load(ordering: .sequentiallyConsistent) }

  /// Serves all requests on the main thread.
  ///
  /// - Throws: if a request failed after writing the manifest but before the
  ///   catalog; the library must be recovered before any further work.
  func serve(_ handler: RequestHandler) throws {
    guard mayHave.exchange(false, ordering: .sequentiallyConsistent) else { return }
    let end = ContinuousClock.now + Self.longest
    while !handler.session.signals.isStopRequested, let request = try catalog.beginRequest() {
      Heartbeat.shared.beat()
      let (response, error) = perform(request, handler)
      if let error, try handler.isBehind() { throw error }
      let text = try JSONText.encode(response)
      try catalog.answer(request.id, text)
      // This machine's own files want their turn.
      guard ContinuousClock.now < end else {
        hear()
        return
      }
    }
  }

  /// For how long requests are served in turn.
  private static let longest = Duration.seconds(1)

  private func perform(
    _ request: RemoteRequest, _ handler: RequestHandler
  ) -> (ControlMessage.Response, (any Error)?) {
    do {
      // What can't be read is of another version, or of nobody.
      let message = try? JSONText.decode(ControlMessage.Request.self, from: request.body)
      guard let message, message.version == programVersion, message.request.isForOtherMachines
      else {
        throw RequestFailure(
          code: RequestFailure.refused,
          message:
            "The process with the library's lock is pipeline \(programVersion), and does not do that for "
            + "other machines.", kind: .fatal)
      }
      if request.wasBegun, !message.request.isRepeatable {
        throw RequestFailure(
          code: RequestFailure.interrupted,
          message:
            "The process with the library's lock ended while it did that. Look what was done, and ask again if "
            + "need be.", kind: .fatal)
      }
      let report = handler.session.report
      return (
        .result(
          try handler.perform(message.request, from: request, report: report) { false }),
        nil
      )
    } catch {
      let failure = error as? RequestFailure
      return (
        .failure(
          failure
            ?? RequestFailure(code: "failed", message: Failure(error).text, kind: .fatal)), error
      )
    }
  }
}
