import Catalog
import Files
import Manifest
import Originals
import PipelineModel

/// Originals that no asset has, for takings that came to their store and not to their record.
///
/// Read from disk once, when the first is asked for. Bytes that were deleted for good before are
/// among them: they may have come again, and nobody but the taking knows.
final class UnrecordedOriginals {
  private struct Entry {
    let digest: Digest
    let identity: FileIdentity
  }

  /// What a renamed file and a copy have of their source.
  private struct Trait: Hashable {
    let size: Int
    let modified: Int64

    init(_ identity: FileIdentity) {
      size = identity.size
      modified = identity.modified
    }
  }

  private let library: IngestLibrary
  private var entries: [Entry]?
  /// How many open takings are of files with the same size and time.
  private let takings: [Trait: Int]

  /// - Parameter takings: all that are open.
  init(_ library: IngestLibrary, takings: [ManifestFact.Intent]) {
    self.library = library
    self.takings = Dictionary(takings.map { (Trait($0.identity), 1) }, uniquingKeysWith: +)
  }

  /// Takes the original that a taking stored out of the list.
  ///
  /// The bytes decide where the source is there. Elsewhere it is the size and the time, which both
  /// a renamed file and a copy have of their source; where several files have the same, also the
  /// inode number. What is left in doubt stays without a record: bytes under another's name would
  /// be worse, and `verify --repair` records them under their digest.
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
        return try library.digest(of: source)
      }
      found = ofSize.first { $0.digest == digest }?.digest
    } else {
      found = match(for: intent, among: ofSize)
    }
    guard let found, case .whole = try translating({ try library.condition(of: found) }) else {
      return nil
    }
    entries?.removeAll { $0.digest == found }
    return found
  }

  private func match(for intent: ManifestFact.Intent, among entries: [Entry]) -> Digest? {
    let ofTime = entries.filter { $0.identity.modified == intent.identity.modified }
    if let same = ofTime.first(where: { $0.identity.inode == intent.identity.inode }) {
      return same.digest
    }
    let isOnlyOne = ofTime.count == 1 && takings[Trait(intent.identity), default: 0] <= 1
    return isOnlyOne ? ofTime.first?.digest : nil
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
    return try found.filter { try !library.catalog.hasOriginal($0.digest) }
  }
}
