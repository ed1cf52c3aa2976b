import Manifest
import PipelineModel

/// Whether facts are such as an import or return of another machine may have, so that nothing else gets into the manifest.
struct RemoteImportCheck {
  /// The machine that asks; empty if its process is forgotten.
  let machine: String
  let seen: SeenAssets
  /// The newest time that an asset's key may have, in milliseconds since 1970; and the oldest, two days before.
  let newest: UInt64

  /// How far a machine's clock may be wrong.
  static let tolerance: UInt64 = 86_400_000

  /// Refuses other facts.
  ///
  /// - Throws: `IngestError` of code `catalog`.
  func require(_ facts: [ManifestFact]) throws(IngestError) {
    var made: [Digest: AssetID] = [:]
    var takings: Set<AssetID> = []
    var gone: Set<AssetID> = []
    for fact in facts {
      guard isAllowed(fact, made), takings.insert(fact.taking).inserted else {
        throw refusal(fact.text)
      }
      if case .returned(let back) = fact, !gone.insert(back.asset).inserted {
        throw refusal(fact.text)
      }
      guard case .stored(let stored) = fact else { continue }
      guard !made.values.contains(stored.asset) else { throw refusal(fact.text) }
      made[stored.digest] = stored.asset
    }
  }

  func refusal(_ text: String) -> IngestError {
    IngestError(
      .catalog,
      "The machine “\(machine)” asked to record what no import or return records, or its clock is a day ahead: "
        + "\(text.prefix(200))")
  }

  private func isAllowed(_ fact: ManifestFact, _ made: [Digest: AssetID]) -> Bool {
    switch fact {
    case .stored(let stored):
      isAllowed(stored.intent) && isKey(stored.asset) && seen.assets[stored.digest.hex] != nil
        && stored.supersedes.map(isKey) ?? true
    case .duplicate(let duplicate):
      isAllowed(duplicate.intent) && duplicate.action != .filed
        && (made[duplicate.digest] == duplicate.asset
          || seen.assets[duplicate.digest.hex]?.contains { $0.asset == duplicate.asset } == true)
    case .restored(let asset):
      seen.assets.values.joined().contains { $0.asset == asset && $0.isTrashed }
    case .returned(let back):
      // Its originals are in a store, out of which nothing is renamed.
      !machine.isEmpty && isAllowed(back.place) && back.action != .renamed && !back.place.moves
    default: false
    }
  }

  private func isAllowed(_ intent: ManifestFact.Intent) -> Bool {
    isKey(intent.taking) && intent.run.map(isKey) ?? true && isSource(intent.source)
      && isRelative(intent.path) && intent.path.bytes.count <= PathLimit.longestPath
      && intent.identity.size >= 0 && intent.permissions <= 0o7777
  }

  /// Whether a key could be made now. Source: RFC 9562, section 5.7.
  private func isKey(_ id: AssetID) -> Bool {
    id.bytes[6] >> 4 == 7 && id.bytes[8] >> 6 == 2 && id.milliseconds <= newest
  }

  private func isSource(_ source: BytePath) -> Bool {
    guard source.bytes.count <= PathLimit.longestSource, !source.bytes.contains(0) else {
      return false
    }
    if let name = MachinePath.sharedName(of: source) {
      return !name.isEmpty && source == MachinePath.sharedPath(name)
    }
    guard let owner = MachinePath.machine(of: source), machine.isEmpty || owner == machine,
      let path = MachinePath.path(source, of: owner)
    else { return false }
    return path == path.normalized && source == MachinePath.path(path, on: owner)
  }

  private func isRelative(_ path: BytePath) -> Bool {
    !path.isEmpty && !path.isAbsolute && !path.bytes.contains(0) && path == path.normalized
      && path.components.first != ".."
  }
}
