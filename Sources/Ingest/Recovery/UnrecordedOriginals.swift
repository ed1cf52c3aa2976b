import Catalog
import Files
import Manifest
import Originals
import PipelineModel

/// Originals that no asset has, for takings that came to their store and not to their record.
///
/// Read from disk once, when the first is asked for.
final class UnrecordedOriginals {
  private struct Entry {
    let digest: Digest
    let identity: FileIdentity
  }

  private let library: IngestLibrary
  private var entries: [Entry]?

  init(_ library: IngestLibrary) { self.library = library }

  /// Takes the original that a taking stored out of the list.
  ///
  /// The bytes decide where the source is there. Elsewhere it is the size and the time, which both
  /// a renamed file and a copy have of their source; of several that match, the one with the
  /// source's inode number. Where no time matches, as in a copy of the library without times, the
  /// only one of this size.
  ///
  /// - Parameters:
  ///   - source: the source, if it is in its place as it was.
  ///   - recorded: what recovery has recorded so far, and the catalog hears of later.
  /// - Returns: its digest; `nil` if there is none, or it is not whole.
  func take(
    for intent: ManifestFact.Intent, source: Descriptor?, except recorded: [Digest: AssetID]
  ) throws(IngestError) -> Digest? {
    let ofSize = try all().filter {
      $0.identity.size == intent.identity.size && recorded[$0.digest] == nil
    }
    guard !ofSize.isEmpty else { return nil }
    let found: Digest?
    if let source {
      let digest = try translating {
        try source.seek(to: 0)
        return try source.hash().digest
      }
      found = ofSize.first { $0.digest == digest }?.digest
    } else {
      let ofTime = ofSize.filter { $0.identity.modified == intent.identity.modified }
      let ofInode = ofTime.first { $0.identity.inode == intent.identity.inode }
      found = (ofInode ?? ofTime.first ?? (ofSize.count == 1 ? ofSize.first : nil))?.digest
    }
    guard let found, case .whole = try translating({ try library.originals.verify(found) }) else {
      return nil
    }
    entries?.removeAll { $0.digest == found }
    return found
  }

  private func all() throws(IngestError) -> [Entry] {
    if let entries { return entries }
    let found = try translating { try read() }
    entries = found
    return found
  }

  private func read() throws -> [Entry] {
    var found: [Entry] = []
    try library.originals.forEach { entry throws(FileError) in
      if case .original(let digest, let status) = entry {
        found.append(Entry(digest: digest, identity: status.identity))
      }
    }
    found = try found.filter { try !library.catalog.hasOriginal($0.digest) }
    // What was deleted for good waits for `gc`.
    let deleted = try Deletions(manifest: library.manifest)
      .deleted(among: Set(found.map(\.digest)))
    return found.filter { !deleted.contains($0.digest) }
  }
}
