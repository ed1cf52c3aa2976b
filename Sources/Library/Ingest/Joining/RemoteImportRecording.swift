import Catalog
import Files
import Manifest
import Originals
import PipelineModel
package import Records

/// Records imports and returns of other machines, in the process with the manifest.
package struct RemoteImportRecording {
  private let library: IngestLibrary
  private let request: RemoteRequest

  /// - Parameter request: says who asks.
  package init(_ library: IngestLibrary, for request: RemoteRequest) {
    self.library = library
    self.request = request
  }

  /// Records all of it or nothing.
  ///
  /// Asked once more for what was recorded before, as after a kill, it finds that and does nothing.
  ///
  /// - Throws: `IngestError` of code `catalog` if the facts are not such as machines may ask for.
  package func record(_ imports: RemoteImport) throws -> RemoteImport.Outcome {
    let now = Timestamp.now
    let newest = try library.catalog.newestAssetID()?.milliseconds ?? 0
    let check = RemoteImportCheck(
      machine: request.node, seen: imports.seen,
      newest: max(UInt64(now.microseconds / 1000), newest) + RemoteImportCheck.tolerance)
    let facts = try imports.facts.map { text in
      guard let fact = ManifestFact(text: text) else { throw check.refusal(text) }
      return fact
    }
    if try areRecorded(facts) { return .recorded }
    // First, because what follows no more from what was seen is no fault then.
    guard try imports.seen.isCurrent(in: library.catalog) else { return .overtaken }
    try check.require(facts)
    try requireHold(facts)
    // What frees room needs none.
    if facts.contains(where: { Self.intent(of: $0) != nil }) { try library.requireRoom() }
    guard try areReturnable(facts) else { return .overtaken }
    guard try areStored(facts) else { return .missing }
    var runs = ReplayedRuns()
    let all = facts.flatMap { fact in Self.intent(of: fact).map { [.intent($0), fact] } ?? [fact] }
    try library.record(all, at: now, asTransaction: true) { first in
      all.enumerated().flatMap { offset, fact -> [CatalogChange] in
        let entry = ManifestEntry(sequence: first + Int64(offset), time: now, fact: fact)
        return (runs.record(of: entry).map { [.run($0)] } ?? []) + Replay.changes(entry)
      }
    }
    let gone = facts.compactMap { if case .returned(let back) = $0 { back.digest } else { nil } }
    if !gone.isEmpty {
      library.verified.subtract(gone)
      try library.removeDiscardedFiles()
    }
    return .recorded
  }

  /// Refuses what comes from a shared source, or goes there, after another machine has it.
  private func requireHold(_ facts: [ManifestFact]) throws {
    let names = Set(
      facts.compactMap { Self.source(of: $0).flatMap { MachinePath.sharedName(of: $0) } })
    for name in names where try !library.catalog.isHeld(name, by: request.participant) {
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

  private static func source(of fact: ManifestFact) -> BytePath? {
    if case .returned(let back) = fact { back.place.source } else { intent(of: fact)?.source }
  }

  /// Whether each asset that is to go is there and came from where its file is, no other run gave up a file for its bytes,
  /// and no machine may still remove the file.
  private func areReturnable(_ facts: [ManifestFact]) throws -> Bool {
    for case .returned(let back) in facts {
      let (id, place) = (back.asset, back.place)
      guard let asset = try library.reader.asset(id), asset.digest == back.digest,
        asset.source == place.source, let run = try library.reader.run(ofAsset: id)
      else { return false }
      let relations = try library.reader.relations(ofOrigins: run, from: id, through: id)
      // A machine that had a shared source before may be about to remove it.
      guard
        try MachinePath.sharedName(of: place.source) == nil
          || library.catalog.sighting(source: place.source, path: place.path)?.awaitsRemoval != true
      else { return false }
      guard relations.letGo[id] == nil,
        asset.path == place.path || relations.otherPaths[id]?.contains(place.path) == true
      else { return false }
    }
    return true
  }

  /// Whether the catalog has all that the facts say.
  private func areRecorded(_ facts: [ManifestFact]) throws -> Bool {
    for fact in facts where try !isRecorded(fact) { return false }
    return !facts.isEmpty
  }

  private func isRecorded(_ fact: ManifestFact) throws -> Bool {
    switch fact {
    case .stored(let stored):
      return try library.reader.asset(stored.asset) != nil
    case .duplicate(let duplicate):
      let intent = duplicate.intent
      let known = try library.catalog.sighting(source: intent.source, path: intent.path)
      return known?.state == .duplicate && known?.asset == duplicate.asset
        && known?.identity == intent.identity
    case .restored(let asset):
      guard let known = try library.reader.asset(asset) else { return false }
      return known.state != .trashed
    case .returned(let back):
      let known = try library.catalog.sighting(source: back.place.source, path: back.place.path)
      guard known?.state == .returned, known?.identity == back.place.identity else { return false }
      return try library.reader.asset(back.asset) == nil
    default:
      return false
    }
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
