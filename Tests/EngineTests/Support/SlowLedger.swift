import Catalog
import Dispatch
import PipelineModel
import Records
import Synchronization

/// A ledger whose first claim takes as long as a test wants.
final class SlowLedger: WrappedLedger {
  /// Signalled once rows are claimed, before the caller hears of them.
  let isClaiming = DispatchSemaphore(value: 0)
  /// Lets the caller hear of them.
  let mayGoOn = DispatchSemaphore(value: 0)
  let ledger: any Ledger
  private let isFirst = Atomic(true)

  init(_ ledger: any Ledger) { self.ledger = ledger }

  func claim(stage: String, limit: Int, suspects: Bool) throws(CatalogError) -> [ClaimedJob] {
    let jobs = try ledger.claim(stage: stage, limit: limit, suspects: suspects)
    if isFirst.exchange(false, ordering: .relaxed) {
      isClaiming.signal()
      mayGoOn.wait()
    }
    return jobs
  }
}
