import Fixtures
import Foundation
import PipelineModel
import PostgreSQL
import Records
import Synchronization
import Testing

@testable import Catalog

/// What becomes of transactions whose connection is lost.
@Suite(
  "A lost connection to the catalog",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5))
)
struct LostConnectionTests {
  /// A catalog whose connections go through a proxy.
  private struct Setup {
    let proxy: DatabaseProxy
    let database: DatabaseLocation
    let direct: CatalogPlace
    let catalog: Catalog

    init() throws {
      database = try PostgreSQLServer.shared.makeDatabase()
      proxy = try DatabaseProxy(to: database)
      direct = .database(database)
      catalog = try Catalog.create(at: .database(proxy.address), libraryID: Library.id)
    }

    /// What another connection reads.
    func assets() throws -> Int {
      let reader = try CatalogReader.open(at: direct, immutable: false)
      defer { try? reader.close() }
      return try reader.assetCount()
    }
  }

  @Test("A statement that fails where nobody waits for it undoes its transaction, and is named")
  func queuedFailure() throws {
    let setup = try Setup()
    let connections = setup.proxy.connectionCount
    func add(_ number: Int, then last: String) throws {
      try setup.catalog.write { (writer) throws(CatalogError) in
        try writer.connection.execute(
          "INSERT INTO setting VALUES (?, ?)", "a\(number)", "first")
        try writer.connection.execute("INSERT INTO setting VALUES (?, ?)", "", "refused")
        try writer.connection.execute(last, "a\(number)")
      }
    }
    for last in [
      "DELETE FROM setting WHERE key = ?", "SELECT value FROM setting WHERE key = ?",
    ] {
      let error = #expect(throws: CatalogError.self) { try add(1, then: last) }
      #expect(
        error?.message.contains("INSERT INTO setting") == true
          && error?.message.contains("23514") == true, "\(error?.message ?? "")")
    }
    #expect(
      try setup.catalog.read { (connection) throws(CatalogError) in
        try !connection.hasRow("SELECT 1 FROM setting WHERE key = 'a1'")
      })
    // The connection is as good as before.
    try setup.catalog.apply([.asset(Samples.asset(1))], manifestPosition: 1)
    #expect(try setup.assets() == 1)
    #expect(setup.proxy.connectionCount == connections)
  }

  @Test("A transaction ends, too, if only its first statement failed and nobody minded")
  func ignoredFailure() throws {
    let setup = try Setup()
    let reader = try CatalogReader.open(at: setup.direct, immutable: false)
    for number in 1...3 {
      // A reader sees what was committed since, as none of its transactions is still open.
      let isRefused = try reader.read { (connection) throws(CatalogError) in
        do throws(CatalogError) {
          return try !connection.hasRow("SELECT 1 / (SELECT count(*) FROM asset WHERE FALSE)")
        } catch {
          return error.message.contains("22012")
        }
      }
      #expect(isRefused)
      try setup.catalog.apply([.asset(Samples.asset(number))], manifestPosition: Int64(number))
      #expect(try reader.assetCount() == number)
    }
    try reader.close()
  }

  @Test("A commit whose answer is lost has been made, and is not made twice")
  func afterCommit() throws {
    let setup = try Setup()
    setup.proxy.cut(.afterCommit)
    try setup.catalog.configure(Samples.stages())
    for number in 1...5 {
      setup.proxy.cut(.afterCommit)
      try setup.catalog.apply([.asset(Samples.asset(number))], manifestPosition: Int64(number))
      #expect(setup.proxy.cutCount == number + 1)
      #expect(try setup.assets() == number)
    }
    setup.proxy.cut(.afterCommit)
    let jobs = try setup.catalog.claim(stage: "identify", limit: 3, suspects: false)
    #expect(jobs.map(\.attempt) == [1, 1, 1])
    setup.proxy.cut(.afterCommit)
    _ = try setup.catalog.complete(
      jobs.map {
        Completion(token: $0.token, outcome: .done(facts: [:], renditions: []), seconds: 1)
      })
    #expect(setup.proxy.cutCount == 8)
    #expect(try setup.catalog.backlog()["identify"] == [.ready: 2, .done: 3])
    #expect(try setup.catalog.manifestPosition == 5)
    try setup.catalog.close()
  }

  @Test("A commit that the server did not get is done again, once")
  func beforeCommit() throws {
    let setup = try Setup()
    try setup.catalog.configure(Samples.stages())
    setup.proxy.cut(.beforeCommit)
    try setup.catalog.apply([.asset(Samples.asset(1))], manifestPosition: 1)
    #expect(setup.proxy.cutCount == 1)
    #expect(try setup.assets() == 1)
    setup.proxy.cut(.beforeCommit)
    let jobs = try setup.catalog.claim(stage: "identify", limit: 3, suspects: false)
    #expect(jobs.count == 1)
    #expect(try setup.catalog.backlog()["identify"] == [.running: 1])
    try setup.catalog.close()
  }

  @Test("A connection that the server ends between two transactions or in one is made anew")
  func terminated() throws {
    let setup = try Setup()
    func terminate() throws {
      let other = try PostgreSQLDriver(setup.database, role: .reading)
      defer { other.close() }
      _ = try other.first(
        """
        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
        """
      ) { $0.int64(0) }
    }
    let reader = try CatalogReader.open(at: setup.direct, immutable: false)
    try terminate()
    try setup.catalog.apply([.asset(Samples.asset(1))], manifestPosition: 1)
    #expect(try reader.assetCount() == 1)
    var isFirst = true
    try setup.catalog.write { (writer) throws(CatalogError) in
      try writer.connection.execute(Setting.write, "a", "b")
      if isFirst {
        isFirst = false
        guard (try? terminate()) != nil else { throw CatalogError(.database, "not terminated") }
      }
      try writer.connection.execute(Setting.write, "c", "d")
    }
    #expect(
      try setup.catalog.read { (connection) throws(CatalogError) in
        try connection.all("SELECT key FROM setting WHERE key IN ('a', 'c') ORDER BY key") {
          $0.text(0)
        }
      } == ["a", "c"])
    try reader.close()
    try setup.catalog.close()
  }

  @Test(
    "Nothing goes on as before if another process changed the catalog while the connection was lost"
  )
  func changedMeanwhile() throws {
    let setup = try Setup()
    try setup.catalog.configure(Samples.stages())
    let driver = try PostgreSQLDriver(setup.database, role: .reading)
    defer { driver.close() }
    try driver.executeScript("UPDATE last_commit SET mark = 'another'")
    setup.proxy.cut(.beforeCommit)
    // The second finds the connection that the first has made.
    for _ in 1...2 {
      let error = #expect(throws: CatalogError.self) {
        try setup.catalog.apply([.asset(Samples.asset(1))], manifestPosition: 1)
      }
      #expect(error?.code == .locked)
      #expect(try setup.assets() == 0)
    }
    try setup.catalog.close()
  }

  /// What a process does in a transaction.
  enum Change: CaseIterable {
    case claim, complete, write
  }

  @Test(
    "A transaction that the server undoes because of a deadlock is made once more",
    arguments: Change.allCases)
  func deadlock(_ change: Change) throws {
    let setup = try Setup()
    try setup.catalog.configure(Samples.stages())
    try setup.catalog.apply(
      (1...3).map { .asset(Samples.asset($0)) }, manifestPosition: 1)
    let jobs =
      change == .complete
      ? try setup.catalog.claim(stage: "identify", limit: 3, suspects: false) : []
    // The server looks for a deadlock once, so long after a session has begun to wait.
    try setup.catalog.access.sync { (writer) throws(CatalogError) in
      try writer.connection.executeScript("SET deadlock_timeout = '2s'")
    }
    let other = try PostgreSQLDriver(setup.database, role: .reading)
    defer { other.close() }
    try other.executeScript("SET deadlock_timeout = '20s'")
    let own = "datname = current_database()"
    func deadlocks() throws -> Int64 {
      let found = try other.first(
        "SELECT pg_stat_clear_snapshot(), deadlocks FROM pg_stat_database WHERE \(own)"
      ) { $0.int64(1) }
      return found ?? 0
    }
    @Sendable func work() throws -> Int {
      switch change {
      case .claim:
        return try setup.catalog.claim(stage: "identify", limit: 3, suspects: false).count
      case .complete:
        return try setup.catalog.complete(
          jobs.map {
            Completion(token: $0.token, outcome: .done(facts: [:], renditions: []), seconds: 1)
          }
        ).count
      case .write:
        _ = try setup.catalog.apply([.asset(Samples.asset(4))], manifestPosition: 2)
        return 0
      }
    }
    try other.executeScript("BEGIN; LOCK TABLE pipeline.ledger IN ACCESS EXCLUSIVE MODE")
    let background = BackgroundWork { try work() }
    let looker = try PostgreSQLDriver(setup.database, role: .reading)
    defer { looker.close() }
    let end = ContinuousClock.now + .seconds(30)
    while try looker.first(
      "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND \(own)",
      read: { $0.int64(0) }) == 0
    {
      try #require(ContinuousClock.now < end && background.end == nil)
      usleep(1000)
    }
    // Whoever has the turn waits for this session, which waits for the turn. It gets it once the other is undone.
    try other.executeScript(other.turn())
    try other.executeScript("ROLLBACK")
    while background.end == nil { usleep(1000) }
    #expect(try background.end?.get() == (change == .claim ? 3 : 0))
    // The server counts a little later.
    while try deadlocks() == 0, ContinuousClock.now < end { usleep(10_000) }
    #expect(try deadlocks() == 1)
    let states: [LedgerState: Int] =
      switch change {
      case .claim: [.running: 3]
      case .complete: [.done: 3]
      case .write: [.ready: 4]
      }
    #expect(try setup.catalog.backlog()["identify"] == states)
    try setup.catalog.close()
  }

  @Test("That a server stays away is told once, and that it is back, too")
  func absence() throws {
    let setup = try Setup()
    struct Heard { var news: [String] = [] }
    let heard = Mutex(Heard())
    setup.catalog.listen { [proxy = setup.proxy] news in
      switch news {
      case .serverAway(let error):
        heard.withLock { $0.news.append(error.message) }
        proxy.admit()
      case .serverBack: heard.withLock { $0.news.append("back") }
      default: break
      }
    }
    setup.proxy.refuse()
    try setup.catalog.apply([.asset(Samples.asset(1))], manifestPosition: 1)
    let news = heard.withLock { $0.news }
    #expect(news.count == 2 && news.last == "back", "\(news)")
    #expect(news.first?.contains("can't be opened") == true, "\(news)")
    #expect(try setup.assets() == 1)
  }

  @Test("A second process is told who has the catalog, and gets it afterwards")
  func exclusion() throws {
    let setup = try Setup()
    let error = #expect(throws: CatalogError.self) {
      _ = try Catalog.open(at: setup.direct, libraryID: Library.id)
    }
    #expect(error?.code == .locked)
    #expect(error?.message.contains("pipeline/\(OwnProcess.node)") == true)
    try setup.catalog.close()
    try Catalog.open(at: setup.direct, libraryID: Library.id).close()
  }

  @Test("Why a server that is back refuses a connection is told once for each reason")
  func refused() throws {
    let server = try PostgreSQLServer()
    let folder = try TemporaryFolder()
    let address = try server.makeDatabase()
    let file = folder.appending("passwords").description
    let driver = try PostgreSQLDriver(
      try DatabaseLocation("\(address.uri)&passfile=\(file.replacing("/", with: "%2F"))"),
      role: .reading)
    defer { driver.close() }
    let admin = try PostgreSQLConnection(address, applicationName: "tests")
    defer { admin.close() }
    try server.requirePassword("right", admin)
    try admin.execute("SELECT pg_terminate_backend(\(driver.backend))")
    let told = Mutex<[String]>([])
    driver.tellAbsence = { error in
      told.withLock { $0.append(error?.message ?? "back") }
      // Only its user may read it, or libpq does not.
      let password = told.withLock { $0.count } == 1 ? "wrong" : "right"
      let isWritten = FileManager.default.createFile(
        atPath: file, contents: Data("*:*:*:*:\(password)\n".utf8),
        attributes: [.posixPermissions: 0o600])
      #expect(isWritten)
    }
    #expect(throws: CatalogError.self) { try driver.executeScript("SELECT 1") }
    try driver.reconnect()
    let reasons = told.withLock { $0 }
    try #require(reasons.count == 3, "\(reasons)")
    #expect(reasons[0].contains("no password") && reasons[1].contains("authentication failed"))
    #expect(reasons[2] == "back")
  }
}
