import Manifest
import PipelineModel

/// Imports of another machine, whose bytes are in the store: what the process with the manifest is to record.
package struct RemoteImport: Codable, Hashable, Sendable {
  /// Facts as `ManifestFact.text`: that bytes were stored or were duplicates, and what was restored from the trash.
  var facts: [String]
  /// What they were decided on.
  var seen: SeenAssets

  init(_ facts: [ManifestFact], seen: SeenAssets) {
    self.facts = facts.map(\.text)
    self.seen = seen
  }

  /// Why nothing can be recorded.
  package static let absence = IngestError(
    .store,
    "Nothing can be recorded, because no process has the library's lock: `pipeline watch` has to run on the "
      + "machine with the library's own folder. Files stay in their sources until then.")

  /// What was done with it.
  package enum Outcome: String, Codable, Sendable {
    /// It is in the manifest and the catalog.
    case recorded
    /// Others changed what it was decided on; nothing was recorded.
    case overtaken
  }
}
