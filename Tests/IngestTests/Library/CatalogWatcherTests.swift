import Files
import Fixtures
import Glibc
import PipelineModel
import Synchronization
import Testing

@testable import Ingest

@Suite("Watching a catalog", .timeLimit(.minutes(2)))
struct CatalogWatcherTests {
  private let temporary: TemporaryFolder
  private let layout: LibraryLayout
  private let folder: Descriptor
  private let calls = Calls()

  private final class Calls: Sendable {
    private let number = Atomic(0)
    var count: Int { number.load(ordering: .sequentiallyConsistent) }
    func add() { number.add(1, ordering: .sequentiallyConsistent) }
  }

  init() throws {
    temporary = try TemporaryFolder()
    layout = LibraryLayout(root: temporary.path)
    folder = try Descriptor.openFolder(temporary.path)
  }

  private func make(_ name: BytePath) throws -> Descriptor {
    try Descriptor.open(name, in: folder, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
  }

  private func watcher(_ inotify: Inotify?) -> CatalogWatcher {
    CatalogWatcher(layout, inotify: inotify) { [calls] in calls.add() }
  }

  private func wait(
    _ what: Comment, within seconds: Int = 60, until isSo: () throws -> Bool
  ) throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try !isSo() {
      try #require(ContinuousClock.now < end, what)
      usleep(1000)
    }
  }

  @Test("A write to the log is reported at once and five times more, and what is beside it is not")
  func reports() throws {
    let log = try make("catalog.sqlite-wal")
    let start = ContinuousClock.now
    let watcher = watcher(try Inotify())
    try make("other").write([1])
    try log.write([1])
    try wait("the first") { calls.count >= 1 }
    try wait("the others") { calls.count >= 6 }
    try wait("the regular one") { ContinuousClock.now - start > .seconds(5) && calls.count >= 7 }
    // There was no report of the other file.
    #expect(calls.count == 7 && ContinuousClock.now - start < .seconds(9))
    try withExtendedLifetime(watcher) {
      try folder.rename("other", to: folder, as: "catalog.sqlite")
      // Before the next regular look.
      try wait("a new catalog", within: 4) { calls.count >= 8 }
    }
  }

  @Test("Writes without a break are reported some fifty times a second")
  func coalescing() throws {
    let log = try make("catalog.sqlite-wal")
    let watcher = watcher(try Inotify())
    let start = ContinuousClock.now
    try withExtendedLifetime(watcher) {
      for _ in 0..<3000 {
        try log.write([1])
        usleep(300)
      }
      let most = Int((ContinuousClock.now - start) / .milliseconds(20)) + 4
      #expect((10...most).contains(calls.count))
    }
  }

  @Test("Without inotify, and without a folder, there is the regular look")
  func polling() throws {
    let one = watcher(nil)
    try wait("a look") { calls.count >= 1 }
    let other = CatalogWatcher(LibraryLayout(root: "/nowhere"), inotify: try Inotify()) {
      [calls] in calls.add()
    }
    try withExtendedLifetime((one, other)) { try wait("more looks") { calls.count >= 3 } }
  }
}
