package import Catalog
import Files
import Originals
package import PipelineModel
package import Records

/// Originals and renditions that `verify` found missing or damaged, kept in `damage.json`.
///
/// A file stays listed until a verification reads it whole, an import heals it, or it is
/// read whole by a move of the originals. An entry no longer applies once
/// another file has replaced the one that was read.
package struct DamageList: Sendable {
  /// The most files listed.
  static let most = 10_000
  static let name = BytePath("damage.json")
  /// More than the longest list takes.
  private static let longest = 64 << 20

  /// A file and what is wrong with it.
  package struct Entry: Hashable, Codable, Sendable {
    package var kind: VerificationProblem.Kind
    /// A sentence for people.
    package var message: String
    /// In microseconds since 1970.
    var time: Int64
    /// The expected hash.
    var digest: Digest
    /// The key of a rendition; `nil` for an original.
    package var rendition: Int64?
    /// Inode, size and modification time of the file that was read; `nil` if there was none.
    var file: [Int64]?

    /// When it was found.
    package var foundAt: Timestamp { Timestamp(microseconds: time) }
  }

  private enum Subject: Hashable {
    case original(Digest)
    case rendition(Int64)
  }

  private var entries: [Subject: Entry] = [:]
  /// New entries, and `nil` for removed ones, since the list was read or saved.
  private var changes: [Subject: Entry?] = [:]

  /// Reads the list; it is empty if there is none or it can't be read.
  package static func read(in library: LibraryFolder) -> DamageList {
    // The next verification finds everything again.
    readWhole(in: library.folder) ?? DamageList()
  }

  /// Reads the list in a library's folder; `nil` if there is none or it can't be read.
  static func readWhole(in folder: Descriptor) -> DamageList? {
    guard let bytes = try? folder.readFile(name, limit: longest),
      let entries = try? JSONText.decode([Entry].self, from: bytes)
    else { return nil }
    var list = DamageList()
    for entry in entries.prefix(most) { list.entries[subject(entry)] = entry }
    return list
  }

  private static func subject(_ entry: Entry) -> Subject {
    entry.rendition.map { .rendition($0) } ?? .original(entry.digest)
  }

  // MARK: Writing

  /// Removes an original, which was read whole.
  mutating func forget(_ original: Digest) { forget(.original(original)) }

  /// Removes a rendition, which was read whole.
  mutating func forget(_ rendition: Int64) { forget(.rendition(rendition)) }

  private mutating func forget(_ subject: Subject) {
    if entries.removeValue(forKey: subject) != nil { changes[subject] = .some(nil) }
  }

  /// Removes originals from the list in a library's folder, because they were just stored anew, or read whole.
  ///
  /// A file would be told from the one that was read, an object in a bucket is not.
  static func forget(_ originals: [Digest], in folder: Descriptor) {
    guard var list = readWhole(in: folder) else { return }
    for original in originals { list.forget(original) }
    // The next verification removes it otherwise.
    _ = list.save(in: folder)
  }

  /// Removes files that the catalog no longer names.
  mutating func forgetFormer(in catalog: CatalogReader) throws(CatalogError) {
    for (subject, entry) in entries {
      let isNamed =
        switch subject {
        case .original(let digest): try catalog.hasOriginal(digest)
        case .rendition(let id): try catalog.rendition(id)?.digest == entry.digest
        }
      if !isNamed { forget(subject) }
    }
  }

  /// Adds a problem with an original or a rendition; ignores any other.
  mutating func note(_ problem: VerificationProblem) {
    switch problem.kind {
    case .originalMissing, .originalDamaged, .renditionMissing, .renditionDamaged: break
    default: return
    }
    guard let digest = problem.digest else { return }
    let entry = Entry(
      kind: problem.kind, message: problem.message, time: Timestamp.now.microseconds,
      digest: digest, rendition: problem.rendition, file: problem.path.flatMap(Self.file))
    entries[Self.subject(entry)] = entry
    changes[Self.subject(entry)] = entry
  }

  /// Saves what has changed, on top of what another verification may have saved meanwhile.
  ///
  /// - Returns: why that failed or is incomplete, or `nil`.
  mutating func save(in folder: Descriptor) -> String? {
    guard !changes.isEmpty else { return nil }
    entries = Self.readWhole(in: folder)?.entries ?? [:]
    for (subject, entry) in changes { entries[subject] = entry }
    let sorted = entries.values.sorted { ($0.time, $0.digest.hex) < ($1.time, $1.digest.hex) }
    do throws(FileError) {
      if sorted.isEmpty {
        try folder.removeIfThere(Self.name)
      } else {
        guard let text = try? JSONText.encode(Array(sorted.prefix(Self.most))) else {
          return "It can't be written as JSON."
        }
        try folder.writeDurably(Array((text + "\n").utf8), as: Self.name)
      }
    } catch {
      return error.message
    }
    changes = [:]
    return sorted.count > Self.most ? "It holds no more than \(Self.most) files." : nil
  }

  // MARK: Reading

  /// Returns the damage that still applies, by the assets concerned.
  package func present(
    in library: LibraryFolder, _ catalog: CatalogReader
  ) throws(CatalogError) -> [AssetID: [Entry]] {
    var found: [AssetID: [Entry]] = [:]
    for entry in entries.values.sorted(by: { $0.time < $1.time }) {
      guard try isPresent(entry, library, catalog) else { continue }
      let assets =
        if let id = entry.rendition {
          try catalog.assets(withRendition: id)
        } else {
          try catalog.assets(with: entry.digest)
        }
      for asset in assets { found[asset, default: []].append(entry) }
    }
    return found
  }

  /// Returns the damage of one asset that still applies.
  package func present(
    of asset: AssetRecord, in library: LibraryFolder, _ catalog: CatalogReader
  ) throws(CatalogError) -> [Entry] {
    var found: [Entry] = []
    for subject in [.original(asset.digest)] + asset.renditions.map({ Subject.rendition($0.id) }) {
      guard let entry = entries[subject], try isPresent(entry, library, catalog) else { continue }
      found.append(entry)
    }
    return found.sorted { $0.time < $1.time }
  }

  private func isPresent(
    _ entry: Entry, _ library: LibraryFolder, _ catalog: CatalogReader
  ) throws(CatalogError) -> Bool {
    guard let id = entry.rendition else {
      return isUnchanged(
        library.layout.originals.appending(OriginalLayout.path(of: entry.digest)), entry)
    }
    guard let rendition = try catalog.rendition(id), rendition.digest == entry.digest else {
      return false
    }
    // A rendition in the database gets another key when it is made again.
    return rendition.path.map { isUnchanged(library.layout.place(ofRendition: $0), entry) } ?? true
  }

  /// Whether the file that was read is still there, or none is: it may have been moved aside.
  private func isUnchanged(_ path: BytePath, _ entry: Entry) -> Bool {
    let file = Self.file(path)
    return file == nil || file == entry.file
  }

  /// Tells a file from a replacement; not by its change time, which each link to it for a worker
  /// changes. `nil` if there is no file.
  private static func file(_ path: BytePath) -> [Int64]? {
    guard let identity = try? FileSystem.status(of: path).identity else { return nil }
    return [Int64(bitPattern: identity.inode), Int64(identity.size), identity.modified]
  }
}
