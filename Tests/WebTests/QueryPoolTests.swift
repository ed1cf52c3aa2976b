import Dispatch
import Files
import Fixtures
import Ingest
import PipelineModel
import Records
import Testing

@testable import Catalog
@testable import Web

/// Which questions wait for each other.
@Suite("Query pool", .timeLimit(.minutes(1)))
struct QueryPoolTests {
  private let temporary: TemporaryFolder
  private let pool: QueryPool

  init() throws {
    temporary = try TemporaryFolder()
    let layout = LibraryLayout(root: temporary.appending("library"))
    try LibraryFolder.make(layout, in: try Descriptor.openFolder(temporary.path))
    let marker = try LibraryFolder.open(layout).marker
    try Catalog.create(at: layout.catalog, libraryID: marker.library).close()
    pool = try QueryPool(
      LibraryOpener(layout, isImmutable: false), pace: ImportPacing().questions)
  }

  @Test("Completions wait for no other question, and none waits for them")
  func completions() {
    let (word, page, answered) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    pool.ask(on: pool.completions) { _ in
      word.wait()
    } completion: { _ in
    }
    for limit in [QueryPool.patience, QueryPool.longPatience, QueryPool.countPatience] {
      pool.ask(within: limit) { _ in
      } completion: { _ in
        answered.signal()
      }
      #expect(answered.wait(timeout: .now() + 20) == .success)
    }
    word.signal()
    for _ in 1...2 {
      pool.ask { _ in
        page.wait()
      } completion: { _ in
      }
    }
    pool.ask(within: QueryPool.longPatience, on: pool.completions) { _ in
    } completion: { _ in
      answered.signal()
    }
    #expect(answered.wait(timeout: .now() + 20) == .success)
    for _ in 1...2 { page.signal() }
    pool.close()
  }
}
