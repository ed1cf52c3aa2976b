import Catalog
import Glibc
import Manifest
import PipelineModel
import Records

/// The records of a library whose manifest another machine writes: that one is asked.
///
/// Files stay in their sources until it has recorded them, so that nothing is lost whoever is killed: there is nothing
/// here to recover.
final class RemoteRecords: ImportRecords {
  private let catalog: Catalog
  private let ask: (RemoteImport) throws -> RemoteImport.Outcome

  /// How often in turn the bytes were not found.
  private var misses = 0
  private static let mostMisses = 4
  private static let looks = 12

  /// - Parameter ask: hands imports over and waits for the answer.
  init(catalog: Catalog, ask: @escaping (RemoteImport) throws -> RemoteImport.Outcome) {
    self.catalog = catalog
    self.ask = ask
  }

  var comparesAssets: Bool { true }

  func announce(_ intents: [ManifestFact]) throws -> Int64 {
    // It may just be starting again.
    for _ in 0..<Self.looks {
      if try catalog.hasTaker() { return 0 }
      usleep(250_000)
    }
    throw RemoteImport.absence
  }

  func write(_ facts: [ManifestFact], at time: Timestamp, seen: SeenAssets) throws -> Int64 {
    // What was given up was never begun for the manifest.
    let ended = facts.filter { if case .abandoned = $0 { false } else { true } }
    guard !ended.isEmpty else { return 0 }
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
    // Assets are recorded, and may be gone by now.
    let others = changes.filter { change in
      switch change {
      case .asset, .restored: false
      default: true
      }
    }
    if !others.isEmpty { try catalog.apply(others, manifestPosition: 0) }
  }

  func hold(position: Int64) {}

  func isAvailable() throws -> Bool { try catalog.hasTaker() }
}
