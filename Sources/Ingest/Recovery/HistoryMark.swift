import Catalog
import Manifest
import PipelineModel

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
  func check() throws(IngestError) {
    try translating {
      guard let text = try catalog.setting(Self.key), let mark = ManifestMark(text) else { return }
      // Recovery reports a truncated manifest.
      guard mark.sequence <= manifest.lastSequence else { return }
      guard try manifest.mark(at: mark.sequence) != mark else { return }
      throw IngestError(
        .catalog,
        "The catalog “\(catalog.path.printable)” is of another history than the manifest: fact "
          + "\(mark.sequence) is not the one it recorded. Perhaps the library was restored from an "
          + "older backup and used since. `pipeline rebuild-catalog` follows the manifest.",
        path: catalog.path)
    }
  }

  /// Remembers the last fact, if it has changed.
  func note() throws(IngestError) {
    try translating {
      guard let mark = manifest.lastMark else { return }
      if try catalog.setting(Self.key) != mark.description {
        try catalog.set(Self.key, to: mark.description)
      }
    }
  }
}
