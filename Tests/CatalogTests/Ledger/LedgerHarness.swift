import Catalog
import PipelineModel
import Records

/// A ledger under test, with what its conformance suite needs beside it.
protocol LedgerHarness: AnyObject {
  var ledger: any Ledger { get }
  /// Records assets.
  func add(_ assets: [NewAsset]) throws
  /// Ends the process without ending attempts, and begins a new one.
  func restart() throws
  /// The job of an asset.
  func job(_ asset: AssetID, _ stage: String) throws -> JobRecord?
  /// The asset as users see it.
  func asset(_ id: AssetID) throws -> AssetRecord?
  /// The bytes of a rendition that is not in a file.
  func bytes(_ rendition: Int64) throws -> [UInt8]?
}

extension LedgerHarness {
  /// Claims up to `limit` rows.
  func claim(_ stage: String, limit: Int = 100, suspects: Bool = false) throws -> [ClaimedJob] {
    try ledger.claim(stage: stage, limit: limit, suspects: suspects)
  }

  @discardableResult
  func complete(
    _ jobs: [ClaimedJob], seconds: Double = 0.25, _ outcome: (ClaimedJob) -> Completion.Outcome
  ) throws -> [String] {
    try ledger.complete(
      jobs.map { Completion(token: $0.token, outcome: outcome($0), seconds: seconds) })
  }

  /// Claims all ready rows of a stage and completes them as done.
  @discardableResult
  func finish(_ stage: String, renditions: [NewRendition] = []) throws -> Int {
    let jobs = try claim(stage)
    try complete(jobs) { .done(facts: ["digest": .string($0.digest.hex)], renditions: renditions) }
    return jobs.count
  }

  func states(_ stage: String) throws -> [LedgerState: Int] {
    try ledger.backlog()[stage] ?? [:]
  }
}

/// The catalog under test.
final class CatalogHarness: LedgerHarness {
  let library: Library

  init() throws { library = try Library() }

  var ledger: any Ledger { library.catalog }
  func add(_ assets: [NewAsset]) throws { try library.add(assets) }
  func restart() throws { try library.reopen() }
  func job(_ asset: AssetID, _ stage: String) throws -> JobRecord? {
    try library.read { try $0.jobs(of: asset).first { $0.stage == stage } }
  }
  func asset(_ id: AssetID) throws -> AssetRecord? { try library.read { try $0.asset(id) } }
  func bytes(_ rendition: Int64) throws -> [UInt8]? {
    try library.read { try $0.renditionBytes(rendition) }
  }
}
