import Fixtures
import Foundation
import PipelineModel
import PostgreSQL
import Testing

/// Whether all workspaces have their catalogs in PostgreSQL, and originals in a bucket: with `PIPELINE_TEST_SERVERS=1`
/// in the environment.
///
/// Renditions are in the database then, or in the library's folder where a test says so. Tests are the same, apart from
/// those that say what they are about.
enum TestServers {
  static let areAsked = ProcessInfo.processInfo.environment["PIPELINE_TEST_SERVERS"] == "1"

  static func bucket() throws -> TestBucket? { areAsked ? try TestBucket() : nil }

  static func database() throws -> DatabaseLocation? {
    areAsked ? try PostgreSQLServer.shared.makeDatabase() : nil
  }
}

extension Trait where Self == ConditionTrait {
  /// Left out with servers.
  ///
  /// - Parameter subject: what the test is about, which servers take the place of.
  static func about(_ subject: EmbeddedPart) -> Self {
    .enabled(if: !TestServers.areAsked, "It is about \(subject.rawValue).")
  }
}

/// What a library has by itself without servers.
enum EmbeddedPart: String {
  case catalogFile = "a catalog that is a file"
  case originals = "originals in the library's folder"
  case modelledDisk = "a disk whose losses are modelled, and servers have disks of their own"
  case soundMachine = "a sound machine, and doctor refuses the tests' server, which flushes nothing"
}
