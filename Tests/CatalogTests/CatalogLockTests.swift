import Fixtures
import PipelineModel
import Records
import Synchronization
import Testing

@testable import Catalog

/// Serialized because there is one busy handler in a process.
@Suite("Locks of other connections", .serialized, .timeLimit(.minutes(1)))
struct CatalogLockTests {
  /// Ends another connection's transaction at the third try, or gives up there.
  private final class Patience: CatalogBusyHandler {
    let catalog: BytePath
    let tries = Mutex(0)
    let free: @Sendable () -> Void

    init(_ catalog: BytePath, free: @escaping @Sendable () -> Void) {
      self.catalog = catalog
      self.free = free
    }

    func shouldRetry(waitingFor catalog: BytePath, since waited: Duration) -> Bool {
      // Tests of other files run at the same time.
      guard catalog == self.catalog else { return waited < .seconds(5) }
      let count = tries.withLock { tries in
        tries += 1
        return tries
      }
      if count == 3 { free() }
      return count < 50
    }
  }

  @Test("A write is tried again until the other's transaction ends, or patience does")
  func held() throws {
    let folder = try TemporaryFolder()
    let file = folder.appending("catalog.sqlite")
    let catalog = try Catalog.create(at: file, libraryID: "x")
    let other = SerialAccess(try Connection(file, mode: .write))
    let before = CatalogLocks.busyHandler
    defer { CatalogLocks.busyHandler = before }

    try other.sync { (other) throws(CatalogError) in _ = try other.execute("BEGIN IMMEDIATE") }
    let patient = Patience(file) {
      #expect(throws: Never.self) {
        try other.sync { (other) throws(CatalogError) in _ = try other.execute("ROLLBACK") }
      }
    }
    CatalogLocks.busyHandler = patient
    try catalog.set("key", to: "value")
    #expect(patient.tries.withLock { $0 } >= 3)

    try other.sync { (other) throws(CatalogError) in _ = try other.execute("BEGIN IMMEDIATE") }
    CatalogLocks.busyHandler = Patience(file) {}
    let error = try #require(throws: CatalogError.self) { try catalog.set("key", to: "other") }
    #expect(error.code == .database && error.message.contains("holds a transaction"))
    #expect(try catalog.setting("key") == "value")
    try other.sync { (other) throws(CatalogError) in other.close() }
    try catalog.close()
  }
}
