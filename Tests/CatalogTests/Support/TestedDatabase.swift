import Fixtures
import Foundation
import Testing

/// The database that `Library` makes its catalog in.
enum TestedDatabase: String, CaseIterable {
  case sqlite, postgreSQL

  @TaskLocal static var current = TestedDatabase.sqlite
  /// Whether both are to get the same texts, so none that PostgreSQL can't store.
  @TaskLocal static var isCompared = false

  /// Those that tests run on: PostgreSQL only where it is installed. `PIPELINE_TEST_DATABASE` names one.
  static let available: [TestedDatabase] = {
    let wanted = ProcessInfo.processInfo.environment["PIPELINE_TEST_DATABASE"]
    return allCases.filter {
      ($0 == .sqlite || PostgreSQLServer.isInstalled) && (wanted ?? $0.rawValue) == $0.rawValue
    }
  }()
}

/// Runs each test once for each database.
struct EachDatabaseTrait: TestTrait, SuiteTrait, TestScoping {
  let isRecursive = true

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let isOnlySQLite = test.traits.contains { $0 is OnlySQLiteTrait }
    for database in TestedDatabase.available where database == .sqlite || !isOnlySQLite {
      try await TestedDatabase.$current.withValue(database) { try await function() }
    }
  }
}

extension Trait where Self == EachDatabaseTrait {
  /// Runs each test with SQLite, and again with PostgreSQL where that is installed.
  static var onEachDatabase: EachDatabaseTrait { EachDatabaseTrait() }
}

/// Keeps a test of files, older versions or query plans to SQLite, within a suite that runs on each database.
struct OnlySQLiteTrait: TestTrait {}

extension Trait where Self == OnlySQLiteTrait {
  static var onlySQLite: OnlySQLiteTrait { OnlySQLiteTrait() }
}
