package import PipelineModel
import Synchronization

/// How long to wait for a catalog that another program keeps locked.
package protocol CatalogPatience: Sendable {
  /// Whether to try again; asked before each try, on the queue that needs the catalog.
  ///
  /// - Parameters:
  ///   - catalog: the catalog's file.
  ///   - waited: the time since the first try.
  func goesOn(waitingFor catalog: BytePath, since waited: Duration) -> Bool
}

/// Locks of other programs on the catalogs of this process.
package enum CatalogLocks {
  private struct State {
    var patience: any CatalogPatience = BoundedPatience(bound: .seconds(5))
  }

  private static let state = Mutex(State())

  /// How long to wait for them; by default 5 s.
  package static var patience: any CatalogPatience {
    get { state.withLock { $0.patience } }
    set { state.withLock { $0.patience = newValue } }
  }
}

/// Waits for some time, and says nothing.
private struct BoundedPatience: CatalogPatience {
  let bound: Duration

  func goesOn(waitingFor catalog: BytePath, since waited: Duration) -> Bool { waited < bound }
}
