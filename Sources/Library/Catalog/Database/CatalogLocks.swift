package import PipelineModel
import Synchronization

/// A policy for waiting on a catalog that another program has locked.
package protocol CatalogBusyHandler: Sendable {
  /// Returns whether to try again; called before each retry, on the thread that needs the catalog.
  ///
  /// - Parameters:
  ///   - catalog: the catalog's file.
  ///   - waited: the time since the first try.
  func shouldRetry(waitingFor catalog: BytePath, since waited: Duration) -> Bool
}

/// The process-wide policy for catalogs locked by other programs.
package enum CatalogLocks {
  private struct State {
    var busyHandler: any CatalogBusyHandler = BusyTimeout(bound: .seconds(5))
  }

  private static let state = Mutex(State())

  /// How long to wait; by default 5 s.
  package static var busyHandler: any CatalogBusyHandler {
    get { state.withLock { $0.busyHandler } }
    set { state.withLock { $0.busyHandler = newValue } }
  }
}

/// Waits silently for a fixed time.
private struct BusyTimeout: CatalogBusyHandler {
  let bound: Duration

  func shouldRetry(waitingFor catalog: BytePath, since waited: Duration) -> Bool { waited < bound }
}
