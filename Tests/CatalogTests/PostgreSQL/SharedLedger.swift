import Catalog
import PipelineModel
import Records
import Synchronization

@testable import Catalog

/// Two catalogs on one database as one ledger: each call goes to the other one, and what became of an attempt to the one
/// that claimed it.
final class SharedLedger: Ledger {
  let all: [Catalog]
  private let state = Mutex(State())

  private struct State {
    var calls = 0
    var owners: [AttemptToken: Int] = [:]
  }

  init(_ all: [Catalog]) { self.all = all }

  private func next() -> Int {
    state.withLock { state in
      state.calls += 1
      return state.calls % all.count
    }
  }

  private func owner(of token: AttemptToken) -> Int { state.withLock { $0.owners[token] ?? 0 } }

  var isOnServer: Bool { all[0].isOnServer }
  let isBesideOthers = true

  func claim(stage: String, limit: Int, suspects: Bool) throws(CatalogError) -> [ClaimedJob] {
    let index = next()
    let jobs = try all[index].claim(stage: stage, limit: limit, suspects: suspects)
    state.withLock { state in
      for job in jobs { state.owners[job.token] = index }
    }
    return jobs
  }

  func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    var unused: [String] = []
    for index in all.indices {
      let own = completions.filter { owner(of: $0.token) == index }
      if !own.isEmpty { unused += try all[index].complete(own) }
    }
    return unused
  }

  func requeue(_ tokens: [AttemptToken]) throws(CatalogError) {
    for index in all.indices {
      let own = tokens.filter { owner(of: $0) == index }
      if !own.isEmpty { try all[index].requeue(own) }
    }
  }

  func withdrawn(among tokens: [AttemptToken]) throws(CatalogError) -> Set<AttemptToken> {
    var withdrawn: Set<AttemptToken> = []
    for catalog in all { withdrawn.formUnion(try catalog.withdrawn(among: tokens)) }
    return withdrawn
  }

  @discardableResult
  func configure(
    _ stages: [StageDefinition], isStopped: () -> Bool
  ) throws(CatalogError) -> [JobEvent] {
    // Only the one with the lock does it.
    try all[0].configure(stages, isStopped: isStopped)
  }

  func hold(stage: String, because reason: String?) throws(CatalogError) {
    try all[next()].hold(stage: stage, because: reason)
  }
  func backlog() throws(CatalogError) -> [String: [LedgerState: Int]] {
    try all[next()].backlog()
  }
  func nextDue(after time: Timestamp?) throws(CatalogError) -> DueTimes {
    // It knows the stages of its last transaction.
    try all[0].nextDue(after: time)
  }
  func misplacedRenditions(
    stage: String, threshold: Int, place: String, limit: Int
  ) throws(CatalogError) -> [MisplacedRendition] {
    try all[0].misplacedRenditions(
      stage: stage, threshold: threshold, place: place, limit: limit)
  }
  func relocate(_ rendition: Int64, to content: RenditionContent) throws(CatalogError) {
    try all[next()].relocate(rendition, to: content)
  }
  func bytes(ofRendition id: Int64) throws(CatalogError) -> [UInt8]? {
    try all[next()].bytes(ofRendition: id)
  }
  func size(ofRendition id: Int64) throws(CatalogError) -> Int? {
    try all[next()].size(ofRendition: id)
  }
  func invalidate(rendition: Int64) throws(CatalogError) {
    try all[next()].invalidate(rendition: rendition)
  }
  func retry(assets: [AssetID]?) throws(CatalogError) -> Int {
    try all[next()].retry(assets: assets)
  }
}

/// A ledger that two processes change in turn.
final class SharedHarness: LedgerHarness {
  let library: Library
  private var shared: SharedLedger

  init() throws {
    library = try Library()
    shared = try Self.share(library)
  }

  private static func share(_ library: Library) throws -> SharedLedger {
    SharedLedger([
      library.catalog, try Catalog.openBeside(library.place, libraryID: Library.id),
    ])
  }

  var ledger: any Ledger { shared }
  func add(_ assets: [NewAsset]) throws { try library.add(assets) }
  func restart() throws {
    try shared.all[1].close()
    try library.reopen()
    shared = try Self.share(library)
  }
  func close() throws {
    try shared.all[1].close()
    try library.close()
  }
  func job(_ asset: AssetID, _ stage: String) throws -> JobRecord? {
    try library.read { try $0.jobs(of: asset).first { $0.stage == stage } }
  }
  func asset(_ id: AssetID) throws -> AssetRecord? { try library.read { try $0.asset(id) } }
  func bytes(_ rendition: Int64) throws -> [UInt8]? {
    try library.read { try $0.renditionBytes(rendition) }
  }
}
