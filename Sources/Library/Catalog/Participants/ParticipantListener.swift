package import Records
import Synchronization

/// What other processes or the server did that concerns this one.
package enum ParticipantNews: Sendable {
  /// Others were gone, and their jobs are ready again; those that failed by that.
  case departed([String], failed: [JobEvent])
  /// This many results were dropped, because others had taken the jobs over.
  case overtaken(Int)
  /// Others may have made jobs ready.
  case readyJobs
  /// The server can't be reached, and is tried again.
  case serverAway(CatalogError)
  case serverBack
}

/// Who hears of participants and the server.
final class ParticipantListener: Sendable {
  // In a struct: see `RunReport`.
  private struct Listener {
    var body: @Sendable (ParticipantNews) -> Void = { _ in }
  }

  private let listener = Mutex(Listener())

  func listen(_ body: @escaping @Sendable (ParticipantNews) -> Void) {
    listener.withLock { $0.body = body }
  }

  func hear(_ news: ParticipantNews) {
    // Copied first, so that it is not called under the lock.
    let body = listener.withLock { $0.body }
    body(news)
  }
}
