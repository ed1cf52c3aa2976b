package import PipelineModel
import Synchronization

/// A policy for waiting on a catalog that another program has locked.
package protocol CatalogPatience: Sendable {
  /// Returns whether to try again; called before each retry, on the queue that needs the catalog.
  ///
  /// - Parameters:
  ///   - catalog: the catalog's file.
  ///   - waited: the time since the first try.
  func goesOn(waitingFor catalog: BytePath, since waited: Duration) -> Bool
}

/// The process-wide policy for catalogs locked by other programs.
package enum CatalogLocks {
  private struct State {
    var patience: any CatalogPatience = BoundedPatience(bound: .seconds(5))
  }

  private static let state = Mutex(State())

  /// How long to wait; by default 5 s.
  package static var patience: any CatalogPatience {
    get { state.withLock { $0.patience } }
    set { state.withLock { $0.patience = newValue } }
  }
}

/// Waits silently for a fixed time.
private struct BoundedPatience: CatalogPatience {
  let bound: Duration

  func goesOn(waitingFor catalog: BytePath, since waited: Duration) -> Bool { waited < bound }
}
