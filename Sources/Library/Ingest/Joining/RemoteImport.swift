import Manifest
import PipelineModel

/// Imports of another machine, whose bytes are in the store, or what it has returned: what the process with the manifest is
/// to record.
package struct RemoteImport: Codable, Hashable, Sendable {
  /// Facts as `ManifestFact.text`: that bytes were stored or were duplicates, what was restored from the trash, and whose
  /// file is back in its source.
  var facts: [String]
  /// What they were decided on.
  var seen: SeenAssets

  init(_ facts: [ManifestFact], seen: SeenAssets) {
    self.facts = facts.map(\.text)
    self.seen = seen
  }

  /// What was done with it.
  package enum Outcome: String, Codable, Sendable {
    /// It is in the manifest and the catalog.
    case recorded
    /// Others changed what it was decided on; nothing was recorded.
    case overtaken
    /// The store does not have the bytes; nothing was recorded.
    case missing
  }

  /// Why nothing can be recorded.
  package static let absence = IngestError(
    .store,
    "Nothing can be recorded, because no process has the library's lock: `pipeline watch` has to run on the "
      + "machine with the library's own folder. Until then nothing changes, and files stay where they "
      + "are.")

  /// Why a request is not waited for.
  package static let stopped = IngestError(
    .store,
    "It was asked to end before its work was recorded. Files stay where they are until the next look."
  )

  /// Why it is not known what became of a request.
  package static let lost = IngestError(
    .store,
    "Other processes took this one for gone while it waited for the process with the library's lock. What that has done "
      + "is found with the next look.")

  /// Why bytes that were stored are not found.
  static let otherStore = IngestError(
    .store,
    "The process with the library's lock does not find the bytes that this machine has stored. Is \"originals\" the "
      + "same bucket and prefix as there? Nothing more is imported for now, and the files stay in their sources."
  )
}
