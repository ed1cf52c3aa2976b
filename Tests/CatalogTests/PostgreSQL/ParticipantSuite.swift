import Fixtures
import Foundation
import Glibc
import PipelineModel
import Records
import Synchronization
import Testing

@testable import Catalog

/// A suite about several processes that change one catalog.
protocol ParticipantSuite {}

extension ParticipantSuite {
  static var done: Completion.Outcome { .done(facts: [:], renditions: []) }

  /// A library in PostgreSQL.
  func makeLibrary(assets: ClosedRange<Int> = 1...3) throws -> Library {
    let library = try TestedDatabase.$current.withValue(.postgreSQL) { try Library() }
    try library.catalog.configure(Samples.stages())
    try library.add(assets.map { Samples.asset($0) })
    return library
  }

  /// - Parameter timing: by default, it neither looks nor renews its pulse while a test lasts.
  func openBeside(
    _ library: Library, timing: ParticipationTiming = Self.silent
  ) throws -> Catalog {
    try Catalog.openBeside(library.place, libraryID: Library.id, timing: timing)
  }

  static var silent: ParticipationTiming {
    var timing = ParticipationTiming()
    timing.look = .seconds(3600)
    timing.pulse = .seconds(3600)
    timing.validity = .seconds(7200)
    return timing
  }

  /// One that misses others soon.
  static var hasty: ParticipationTiming {
    var timing = ParticipationTiming()
    timing.look = .milliseconds(20)
    timing.pulse = .milliseconds(20)
    return timing
  }

  func wait(
    for what: String, _ condition: () throws -> Bool, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let end = ContinuousClock().now + .seconds(60)
    while try !condition() {
      try #require(ContinuousClock().now < end, "\(what) did not come", sourceLocation: location)
      usleep(10_000)
    }
  }

  /// Runs SQL as somebody else.
  func execute(_ sql: String, _ library: Library) throws {
    guard case .database(let address) = library.place else { return }
    let driver = try PostgreSQLDriver(address, role: .reading)
    defer { driver.close() }
    try driver.executeScript(sql)
  }

  /// Reads a text as somebody else.
  func text(_ sql: String, _ library: Library) throws -> String? {
    guard case .database(let address) = library.place else { return nil }
    let driver = try PostgreSQLDriver(address, role: .reading)
    defer { driver.close() }
    return try driver.first(sql) { $0.text(0) }
  }

  @discardableResult
  func complete(_ jobs: [ClaimedJob], _ catalog: Catalog) throws -> [String] {
    try catalog.complete(jobs.map { Completion(token: $0.token, outcome: Self.done, seconds: 1) })
  }

  /// The participant that a catalog is now.
  func number(of catalog: Catalog) throws -> Int64 {
    try #require(try catalog.access.sync { (writer) in writer.participation?.id })
  }

  /// Ends the connection that a catalog is changed by, as a network or a server does.
  func cutWriter(_ catalog: Catalog, _ library: Library) throws {
    let process = try catalog.read { (connection) throws(CatalogError) in
      try connection.first("SELECT pg_backend_pid()") { $0.int64(0) }
    }
    try execute("SELECT pg_terminate_backend(\(try #require(process)))", library)
  }

  /// How many sessions wait for their turn to change the catalog, or have it.
  func turns(granted: Bool, _ library: Library) throws -> Int {
    try library.read { reader in
      try reader.read { (connection) throws(CatalogError) in
        try connection.first(
          """
          SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND objid = 2 AND granted = ?
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          """, granted
        ) { $0.int(0) } ?? 0
      }
    }
  }
}

/// Work on a thread of its own.
final class BackgroundWork<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, any Error>?>(nil)

  init(_ body: @escaping @Sendable () throws -> Value) {
    Thread.detachNewThread { [self] in
      let end = Result { try body() }
      result.withLock { $0 = end }
    }
  }

  /// What came of it; `nil` while it goes on.
  var end: Result<Value, any Error>? { result.withLock { $0 } }
}
