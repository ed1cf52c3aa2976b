import Catalog
import Files
import Manifest
import Originals
import PipelineModel

/// Originals without an asset, for imports that reached the store but not their record.
///
/// Read from disk once, on first use. Includes bytes that were deleted permanently before: they may
/// have been imported again, and only that import knows. A store without files has none: there, an import's own file
/// stays in `incoming/` until it is recorded.
final class UnrecordedOriginals {
  private struct Entry {
    let digest: Digest
    let file: FileIdentity
  }

  /// What a renamed file and a copy share with their source.
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
  /// The number of open imports of files with the same size and time.
  private let intents: [Trait: Int]

  /// - Parameter intents: all open imports.
  init(_ library: IngestLibrary, intents: [ManifestFact.Intent]) {
    self.library = library
    self.intents = Dictionary(intents.map { (Trait($0.identity), 1) }, uniquingKeysWith: +)
  }

  /// Takes the original that an import stored out of the list.
  ///
  /// If the source is there, the bytes decide. Otherwise size and time do, which a renamed file and
  /// a copy share with their source; if several files share them, also the inode number. An
  /// original still in doubt stays without a record: bytes under another file's name would be
  /// worse, and `verify --repair` records them under their digest.
  ///
  /// - Parameters:
  ///   - source: the source, if it is in its place unchanged.
  ///   - recorded: what recovery recorded so far, and the catalog gets later.
  /// - Returns: its digest; `nil` if there is none, or it is not whole.
  func claim(
    for intent: ManifestFact.Intent, source: Descriptor?, except recorded: [Digest: AssetID]
  ) throws -> Digest? {
    let ofSize = try all().filter {
      $0.file.size == intent.identity.size && recorded[$0.digest] == nil
    }
    guard !ofSize.isEmpty else { return nil }
    let found: Digest?
    if let source {
      try source.seek(to: 0)
      let digest = try library.digest(of: source)
      found = ofSize.first { $0.digest == digest }?.digest
    } else {
      found = match(for: intent, among: ofSize)
    }
    guard let found, case .whole = try library.condition(of: found) else { return nil }
    entries?.removeAll { $0.digest == found }
    return found
  }

  private func match(for intent: ManifestFact.Intent, among entries: [Entry]) -> Digest? {
    let ofTime = entries.filter { $0.file.modified == intent.identity.modified }
    if let same = ofTime.first(where: { $0.file.inode == intent.identity.inode }) {
      return same.digest
    }
    let isOnlyOne = ofTime.count == 1 && intents[Trait(intent.identity), default: 0] <= 1
    return isOnlyOne ? ofTime.first?.digest : nil
  }

  private func all() throws -> [Entry] {
    if let entries { return entries }
    let found = try read()
    entries = found
    return found
  }

  private func read() throws -> [Entry] {
    // To list a bucket takes a request for each thousand objects.
    if library.originals.leavesFiles { return [] }
    let sizes = Set(intents.keys.map(\.size))
    var found: [Entry] = []
    try library.originals.forEach { entry throws(FileError) in
      if case .original(let digest, _, let file?) = entry, sizes.contains(file.size) {
        found.append(Entry(digest: digest, file: file))
      }
    }
    return try found.filter { try !library.catalog.hasOriginal($0.digest) }
  }
}
