import Catalog
import PipelineModel
import Records
import Synchronization

/// A ledger in which a failed row is due again at once, whatever delay it was given.
final class HastyLedger: WrappedLedger {
  let ledger: any Ledger
  private let seen = Mutex<[Double?]>([])

  init(_ ledger: any Ledger) { self.ledger = ledger }

  /// The delays that failures were given, in seconds; `nil` for one without another try.
  var delays: [Double?] { seen.withLock { $0 } }

  func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    var hastened = completions
    for index in completions.indices {
      guard case .failed(let kind, let reason, let retryAt) = completions[index].outcome else {
        continue
      }
      let now = Timestamp.now
      seen.withLock { seen in
        seen.append(retryAt.map { Double($0.microseconds - now.microseconds) / 1e6 })
      }
      hastened[index].outcome = .failed(
        class: kind, reason: reason, retryAt: retryAt.map { _ in now })
    }
    return try ledger.complete(hastened)
  }
}
