import Catalog
import Glibc
import Manifest
import PipelineModel
import Records

/// The records of a library whose manifest another machine writes: that one is asked.
///
/// Files stay in their sources until it has recorded them, and assets stay until it has recorded that their files are back,
/// so that nothing is lost whoever is killed.
final class RemoteRecords: ImportRecords {
  private let catalog: Catalog
  private let machine: String
  private let journal: ReturnJournal
  private let ask: (RemoteImport) throws -> RemoteImport.Outcome
  /// The run that was noted as the last one that imported something.
  private var notedRun: AssetID?

  /// How often in turn the bytes were not found.
  private var misses = 0
  private static let mostMisses = 4
  private static let looks = 12

  /// - Parameters:
  ///   - machine: the name of this one.
  ///   - ask: hands facts over and waits for the answer.
  init(
    catalog: Catalog, machine: String, journal: ReturnJournal,
    ask: @escaping (RemoteImport) throws -> RemoteImport.Outcome
  ) {
    self.catalog = catalog
    self.machine = machine
    self.journal = journal
    self.ask = ask
  }

  var comparesAssets: Bool { true }

  func announce(_ intents: [ManifestFact]) throws -> Int64 {
    try requireTaker()
    // Imports leave nothing behind.
    try journal.begin(
      intents.compactMap { if case .returning(let back) = $0 { back } else { nil } })
    return 0
  }

  /// Has a return recorded that was interrupted, unless others have changed its asset since.
  func complete(_ back: ManifestFact.Return) throws {
    try requireTaker()
    _ = try ask(RemoteImport([.returned(back)], seen: SeenAssets()))
  }

  private func requireTaker() throws {
    // It may just be starting again.
    for _ in 0..<Self.looks {
      if try catalog.hasTaker() { return }
      usleep(250_000)
    }
    throw RemoteImport.absence
  }

  /// Notes which run imported something last, for an undo of it.
  private func note(_ facts: [ManifestFact]) throws {
    for case .stored(let stored) in facts where stored.intent.run != notedRun {
      notedRun = stored.intent.run
      try catalog.set(JoinedLibrary.lastRun(of: machine), to: notedRun?.description)
    }
  }

  func write(_ facts: [ManifestFact], at time: Timestamp, seen: SeenAssets) throws -> Int64 {
    // What was given up was never begun for the manifest.
    let ended = facts.filter { if case .abandoned = $0 { false } else { true } }
    guard !ended.isEmpty else { return 0 }
    try note(ended)
    switch try ask(RemoteImport(ended, seen: seen)) {
    case .recorded:
      misses = 0
      return 0
    case .overtaken:
      throw OvertakenImport()
    case .missing:
      // Once, `gc` may have been faster.
      misses += 1
      guard misses < Self.mostMisses else {
        misses = 0
        throw RemoteImport.otherStore
      }
      throw OvertakenImport()
    }
  }

  func apply(_ changes: [CatalogChange], upTo position: Int64) throws {
    // What became of assets is recorded, and may be out of date by now.
    let others = changes.filter { change in
      switch change {
      case .asset, .restored, .returned: false
      default: true
      }
    }
    if !others.isEmpty { try catalog.apply(others, manifestPosition: 0) }
  }

  func endReturns(of assets: Set<AssetID>) throws {
    try journal.end { assets.contains($0.asset) }
  }

  func hold(position: Int64) {}

  func isAvailable() throws -> Bool { try catalog.hasTaker() }
}
