package import Catalog
package import Manifest
import PipelineModel
import Records

/// An import that was begun and not ended.
package struct InterruptedImport: Hashable, Sendable {
  /// The position of its intent in the manifest.
  package let sequence: Int64
  package let intent: ManifestFact.Intent
}

/// A return that was begun and not ended.
package struct InterruptedReturn: Hashable, Sendable {
  /// The position of its fact in the manifest.
  package let sequence: Int64
  package let back: ManifestFact.Return
}

/// What a manifest's facts leave open, in order.
package struct InterruptedWork: Hashable, Sendable {
  package var imports: [InterruptedImport] = []
  package var returns: [InterruptedReturn] = []

  package var isEmpty: Bool { imports.isEmpty && returns.isEmpty }
}

/// Applies the manifest's facts that the catalog lacks.
package struct Replay {
  private let catalog: Catalog
  private let manifest: Manifest
  private let progress: (Int64) -> Void
  /// The number of changes after which a transaction ends. Facts that were recorded as one transaction
  /// are applied as one, so there may be more.
  private static let batch = 4096
  /// The catalog's setting with the position of the last retry that was applied before its turn.
  private static let retries = "manifest.retried"

  /// - Parameter progress: called after each transaction with the position of its last fact.
  package init(
    catalog: Catalog, manifest: Manifest, progress: @escaping (Int64) -> Void = { _ in }
  ) {
    self.catalog = catalog
    self.manifest = manifest
    self.progress = progress
  }

  /// Replays the manifest.
  ///
  /// - Returns: what was begun and not ended. The catalog's position stays before the first of it
  ///   until it is ended.
  @discardableResult
  package func run() throws -> InterruptedWork {
    let start = try catalog.manifestPosition
    var imports: [AssetID: InterruptedImport] = [:]
    var returns: [AssetID: InterruptedReturn] = [:]
    var changes: [CatalogChange] = []
    var last: Int64 = start
    var runs = ReplayedRuns()
    // Unlike other facts, a retry must not be repeated while an earlier import holds the position.
    let lastRetry = Int64(try catalog.setting(Self.retries) ?? "") ?? 0
    var newestRetry = lastRetry
    var cursor = try manifest.entries(after: start)
    while let entry = try cursor.next() {
      last = entry.sequence
      switch entry.fact {
      case .intent(let intent):
        imports[intent.taking] = InterruptedImport(sequence: entry.sequence, intent: intent)
      case .returning(let back):
        returns[back.place.taking] = InterruptedReturn(sequence: entry.sequence, back: back)
      case .stored, .duplicate, .abandoned, .returned:
        imports[entry.fact.taking] = nil
        returns[entry.fact.taking] = nil
      case .trashed, .restored, .purged, .annotated, .retried:
        break
      }
      if let run = runs.record(of: entry) { changes.append(.run(run)) }
      if case .retried = entry.fact {
        if entry.sequence <= lastRetry { continue }
        newestRetry = entry.sequence
      }
      changes += Self.changes(entry)
      if changes.count >= Self.batch, !cursor.isInTransaction {
        // The position advances at the end; replaying a batch twice is harmless.
        try catalog.apply(changes, manifestPosition: start)
        progress(last)
        changes = []
      }
    }
    // Those of a transaction that a kill interrupted are done with, too.
    last = max(last, cursor.lastSequence ?? start)
    let open = InterruptedWork(
      imports: imports.values.sorted { $0.sequence < $1.sequence },
      returns: returns.values.sorted { $0.sequence < $1.sequence })
    let firsts = [open.imports.first?.sequence, open.returns.first?.sequence]
    let position = firsts.compactMap { $0.map { $0 - 1 } }.min() ?? last
    if last > start { try catalog.apply(changes, manifestPosition: max(start, position)) }
    if position < newestRetry, newestRetry > lastRetry {
      try catalog.set(Self.retries, to: String(newestRetry))
    }
    return open
  }

  static func changes(_ entry: ManifestEntry) -> [CatalogChange] {
    switch entry.fact {
    case .intent, .abandoned, .returning:
      []
    case .stored(let stored):
      [
        .asset(NewAsset(stored, importedAt: entry.time)),
        .sighting(sighting(stored.intent, .imported, stored.asset, at: entry.time)),
      ]
    case .duplicate(let duplicate):
      [
        .sighting(
          sighting(
            duplicate.intent, .duplicate, duplicate.asset, at: entry.time,
            isKept: duplicate.action == .kept)),
        .relied(on: duplicate.digest),
      ]
    case .trashed(let asset):
      [.trashed(asset, at: entry.time)]
    case .restored(let asset):
      [.restored(asset)]
    case .purged(let asset, _):
      [.purged(asset, sequence: entry.sequence)]
    case .annotated(let asset, let annotation):
      [.annotated(asset, annotation)]
    case .retried(let asset):
      [.retried(asset)]
    case .returned(let back):
      [.returned(back.asset, back.sighting(at: entry.time), sequence: entry.sequence)]
    }
  }

  /// A path's state once its bytes were safe. Only a scan can find whether its source still exists:
  /// `awaitsRemoval` makes the next scan look.
  private static func sighting(
    _ intent: ManifestFact.Intent, _ state: Sighting.State, _ asset: AssetID, at time: Timestamp,
    isKept: Bool = false
  ) -> Sighting {
    Sighting(
      source: intent.source, path: intent.path, state: state, identity: intent.identity,
      asset: asset, reason: state == .duplicate ? "Its bytes are already stored." : nil,
      seenAt: time, awaitsRemoval: intent.moves && !isKept, run: intent.run)
  }
}

extension ManifestFact.Return {
  /// The state of the path that the bytes were returned to.
  func sighting(at time: Timestamp) -> Sighting {
    Sighting(
      source: place.source, path: place.path, state: .returned, identity: place.identity,
      reason: "The run that imported it was undone.", seenAt: time)
  }
}

/// The runs mentioned by a manifest's facts.
struct ReplayedRuns {
  private var seen: Set<AssetID> = []
  private var importing: Set<AssetID> = []

  /// Returns the record of a fact's run, if the fact adds to what earlier ones said.
  mutating func record(of entry: ManifestEntry) -> RunRecord? {
    switch entry.fact {
    case .stored(let stored):
      guard let run = stored.intent.run, importing.insert(run).inserted else { return nil }
      seen.insert(run)
      return RunRecord(id: run, verb: RunRecord.unknownVerb, startedAt: entry.time)
    case .duplicate(let duplicate):
      // What it found must not be taken for an earlier run's work.
      guard let run = duplicate.intent.run, seen.insert(run).inserted else { return nil }
      return RunRecord(
        id: run, verb: RunRecord.unknownVerb, startedAt: entry.time, counters: ["imported": 0])
    default:
      return nil
    }
  }
}

/// Checks whether a catalog and a manifest share one history.
///
/// A catalog on its own disk may be left behind when its library is restored from an older backup,
/// used elsewhere, and brought back: then the manifest has as many facts, but other ones. So the
/// catalog remembers one fact by its position and time.
struct HistoryMark {
  let catalog: Catalog
  let manifest: Manifest
  private static let key = Catalog.manifestMark

  /// Throws if the manifest has another fact at the remembered position.
  func check() throws {
    guard let text = try catalog.setting(Self.key), let mark = ManifestMark(text) else { return }
    // Recovery reports a truncated manifest.
    guard mark.sequence <= manifest.lastSequence else { return }
    guard try manifest.mark(at: mark.sequence) != mark else { return }
    throw IngestError(
      .catalog,
      "The catalog “\(catalog.path.printable)” is of another history than the manifest: fact "
        + "\(mark.sequence) is not the one it recorded. If another machine has taken this one's place, do nothing "
        + "here. If the library was restored from an older backup and used since, `pipeline rebuild-catalog` "
        + "follows the manifest.",
      path: catalog.path)
  }

  /// Remembers the last fact, if it has changed.
  func note() throws {
    guard let mark = manifest.lastMark else { return }
    if try catalog.setting(Self.key) != mark.description {
      try catalog.apply([], manifestPosition: 0, mark: mark.description)
    }
  }
}
