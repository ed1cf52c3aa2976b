import Catalog
import Manifest
import PipelineModel

/// Tells whether a catalog and a manifest have one history.
///
/// A catalog on a disk of its own may be left behind when its library is restored from an older
/// backup, used elsewhere, and brought back: then the manifest has as many facts, but other ones. So
/// the catalog remembers one fact, by its place and its time.
struct HistoryMark {
  let catalog: Catalog
  let manifest: Manifest
  private static let key = Catalog.manifestMark

  /// Throws if the manifest has another fact at the place of the remembered one.
  func check() throws(IngestError) {
    try translating {
      guard let text = try catalog.setting(Self.key), let mark = ManifestMark(text) else { return }
      // A manifest that was cut is for recovery to tell of.
      guard mark.sequence <= manifest.lastSequence else { return }
      guard try manifest.mark(at: mark.sequence) != mark else { return }
      throw IngestError(
        .catalog,
        "The catalog “\(catalog.path.printable)” is of another history than the manifest: fact "
          + "\(mark.sequence) is not the one that it knows. Perhaps the library was restored from an "
          + "older backup and used since. `pipeline rebuild-catalog` goes by the manifest.",
        path: catalog.path)
    }
  }

  /// Remembers the last fact, if it is another than before.
  func note() throws(IngestError) {
    try translating {
      guard let mark = manifest.lastMark else { return }
      if try catalog.setting(Self.key) != mark.description {
        try catalog.set(Self.key, to: mark.description)
      }
    }
  }
}
