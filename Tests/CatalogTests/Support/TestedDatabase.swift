import Fixtures
import Foundation
import Testing

/// The database that `Library` makes its catalog in.
enum TestedDatabase: String, CaseIterable {
  case sqlite, postgreSQL

  @TaskLocal static var current = TestedDatabase.sqlite
  /// Whether both are to get the same texts, so none that PostgreSQL can't store.
  @TaskLocal static var isCompared = false

  /// Those that tests run on: PostgreSQL only where it is installed. `PIPELINE_TEST_DATABASE` names one, which
  /// must be known and installed.
  static let available: [TestedDatabase] = {
    let isInstalled = PostgreSQLServer.isInstalled
    if let name = ProcessInfo.processInfo.environment["PIPELINE_TEST_DATABASE"] {
      guard let wanted = TestedDatabase(rawValue: name), wanted == .sqlite || isInstalled else {
        fatalError("PIPELINE_TEST_DATABASE is “\(name)”: unknown, or not installed.")
      }
      return [wanted]
    }
    if !isInstalled { print("PostgreSQL is not installed: suites run on SQLite alone.") }
    return isInstalled ? allCases : [.sqlite]
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
