import CSQLite
import PipelineModel
import Testing

@testable import Catalog

/// The memory of the connection that writes.
@Suite("The cache", .timeLimit(.minutes(2)))
struct CacheTests {
  /// The bytes that the writing connection's pages take.
  private func bytes(of library: Library) throws -> Int {
    try library.catalog.read { connection in
      var now: Int32 = 0
      var most: Int32 = 0
      sqlite3_db_status(connection.sqlite?.handle, SQLITE_DBSTATUS_CACHE_USED, &now, &most, 0)
      return Int(now)
    }
  }

  @Test("Between transactions it is bounded, whatever the size of the catalog and of the last one")
  func bound() throws {
    let library = try Library()
    try library.execute("CREATE TABLE filler (bytes BLOB NOT NULL)")
    let bound = SQLiteDriver.cacheKibibytes << 10
    // Four times as much as fits, at once and in pieces.
    for rows in [4 * bound / 4096, 500, 500] {
      try library.execute(
        """
        INSERT INTO filler WITH RECURSIVE number(n) AS (
          SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(rows)
        ) SELECT randomblob(3500) FROM number
        """)
      let used = try bytes(of: library)
      // Beside its content a page has some hundred bytes of its own.
      #expect(used > bound / 2 && used < bound + bound / 4, "\(used) bytes after \(rows) rows")
    }
  }
}
