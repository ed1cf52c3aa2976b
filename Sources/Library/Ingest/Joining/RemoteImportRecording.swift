import Catalog
import Files
import Manifest
import Originals
import PipelineModel
import Records

/// Records imports of other machines, in the process with the manifest.
package struct RemoteImportRecording {
  private let library: IngestLibrary
  private let participant: Int64

  /// - Parameter participant: who asks, by its number among the participants.
  package init(_ library: IngestLibrary, for participant: Int64) {
    self.library = library
    self.participant = participant
  }

  /// Records all of it or nothing.
  ///
  /// Asked once more for what was recorded before, as after a kill, it finds that and does nothing.
  ///
  /// - Throws: `IngestError` of code `catalog` if the facts are not such as machines may ask for.
  package func record(_ imports: RemoteImport) throws -> RemoteImport.Outcome {
    let facts = try imports.facts.map { try fact($0) }
    if try isRecorded(facts) { return .recorded }
    try requireHold(facts)
    guard try imports.seen.isCurrent(in: library.catalog), try areStored(facts) else {
      return .overtaken
    }
    let now = Timestamp.now
    var runs = ReplayedRuns()
    let all = facts.flatMap { fact in Self.intent(of: fact).map { [.intent($0), fact] } ?? [fact] }
    try library.record(all, at: now, asTransaction: true) { first in
      all.enumerated().flatMap { offset, fact -> [CatalogChange] in
        let entry = ManifestEntry(sequence: first + Int64(offset), time: now, fact: fact)
        return (runs.record(of: entry).map { [.run($0)] } ?? []) + Replay.changes(entry)
      }
    }
    return .recorded
  }

  private func fact(_ text: String) throws -> ManifestFact {
    switch ManifestFact(text: text) {
    case .stored(let stored) where MachinePath.machine(of: stored.intent.source) != nil:
      return .stored(stored)
    case .duplicate(let duplicate) where MachinePath.machine(of: duplicate.intent.source) != nil:
      return .duplicate(duplicate)
    case .restored(let asset):
      return .restored(asset: asset)
    default:
      throw IngestError(.catalog, "Another machine asked to record what no import records: \(text)")
    }
  }

  /// Refuses what comes from a shared source after another machine has it.
  private func requireHold(_ facts: [ManifestFact]) throws {
    let names = Set(
      facts.compactMap { Self.intent(of: $0).flatMap { MachinePath.sharedName(of: $0.source) } })
    for name in names where try !library.catalog.isHeld(name, by: participant) {
      throw IngestError(
        .held, "Another machine takes files from the shared source “\(name)” by now.")
    }
  }

  private static func intent(of fact: ManifestFact) -> ManifestFact.Intent? {
    switch fact {
    case .stored(let stored): stored.intent
    case .duplicate(let duplicate): duplicate.intent
    default: nil
    }
  }

  /// Whether the facts are in the catalog, all of which went there together.
  private func isRecorded(_ facts: [ManifestFact]) throws -> Bool {
    for case .stored(let stored) in facts { return try library.reader.asset(stored.asset) != nil }
    return false
  }

  /// Whether the store has the bytes; whoever stored them may have been slower than `gc`.
  private func areStored(_ facts: [ManifestFact]) throws -> Bool {
    let digests = facts.compactMap { fact -> (Digest, Int)? in
      switch fact {
      case .stored(let stored): (stored.digest, stored.intent.identity.size)
      case .duplicate(let duplicate): (duplicate.digest, duplicate.intent.identity.size)
      default: nil
      }
    }
    let originals = library.originals
    let results = digests.concurrentMap { digest, size in
      Result { try originals.size(of: digest) == size }
    }
    for result in results where try !result.get() { return false }
    return true
  }
}
