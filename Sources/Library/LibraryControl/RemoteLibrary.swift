package import Catalog
import Glibc
package import Ingest
import PipelineModel

/// The process with a library's lock, as another machine sees it: requests go by the database.
package struct RemoteLibrary: Sendable {
  private let catalog: Catalog
  private let isStopped: @Sendable () -> Bool
  /// How long a request waits for a process with the lock.
  private static let patience = Duration.seconds(15)
  /// How long it waits for its answer after a signal.
  private static let lastPatience = Duration.seconds(5)
  private static let (shortestPause, longestPause) = (5, 200)

  /// - Parameter isStopped: whether to wait no longer.
  package init(catalog: Catalog, isStopped: @escaping @Sendable () -> Bool) {
    self.catalog = catalog
    self.isStopped = isStopped
  }

  /// Has a request performed.
  ///
  /// - Throws: `RequestFailure` if it failed; `IngestError` of code `store` if nobody has the lock, or after a
  ///   signal. Then it is taken back, or performed all the same if it was begun.
  package func ask(_ request: LibraryRequest) throws -> RequestResult {
    let number = try catalog.ask(JSONText.encode(ControlMessage.Request(request: request)))
    let answer = try answer(to: number)
    // It was performed all the same. Answers that stay are deleted once this process is gone.
    try? catalog.forget(number)
    switch try JSONText.decode(ControlMessage.Response.self, from: answer) {
    case .result(let result): return result
    case .failure(let failure): throw failure
    default:
      throw RequestFailure(
        code: RequestFailure.interrupted, message: "The answer to a request can't be read.",
        kind: .fatal)
    }
  }

  /// Has imports or returns recorded.
  ///
  /// - Throws: also `IngestError` of code `store` if that failed over there; files are where they were put.
  package func record(_ imports: RemoteImport) throws -> RemoteImport.Outcome {
    do {
      let result = try ask(.record(imports))
      guard let outcome = result.members[RequestResult.outcome]?.string,
        let value = RemoteImport.Outcome(rawValue: outcome)
      else { throw RemoteImport.absence }
      return value
    } catch let failure as RequestFailure {
      throw IngestError(
        .store,
        "The process with the library's lock could not record what this one did: \(failure.message) Nothing more is "
          + "taken or returned for now, and files stay where they are.")
    }
  }

  private func answer(to number: Catalog.AskedRequest) throws -> String {
    var seenAt = ContinuousClock.now
    var stoppedAt: ContinuousClock.Instant?
    var pause = Self.shortestPause
    while true {
      switch try catalog.state(of: number) {
      case .answered(let answer): return answer
      case .dropped: throw RemoteImport.lost
      case .waiting: break
      }
      let now = ContinuousClock.now
      if stoppedAt == nil, try isStopped() || catalog.isDraining { stoppedAt = now }
      if let stoppedAt, now - stoppedAt > Self.lastPatience {
        _ = try catalog.withdraw(number)
        throw RemoteImport.stopped
      }
      if pause == Self.longestPause {
        if try catalog.hasTaker() {
          seenAt = now
        } else if now - seenAt > Self.patience {
          // One that was begun is performed before all later ones.
          _ = try catalog.withdraw(number)
          throw RemoteImport.absence
        }
      }
      usleep(UInt32(pause) * 1000)
      pause = min(pause * 2, Self.longestPause)
    }
  }
}
