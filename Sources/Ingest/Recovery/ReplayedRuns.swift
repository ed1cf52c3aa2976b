import Catalog
import Manifest
import PipelineModel

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
