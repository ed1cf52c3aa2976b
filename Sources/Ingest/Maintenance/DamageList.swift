package import Catalog
import Files
import Originals
package import PipelineModel

/// Originals and renditions that `verify` found missing or damaged, as `damage.json` keeps them.
///
/// A file stays in the list until a verification reads it whole. An entry counts for nothing once
/// another file has taken the place of the one that was read.
package struct DamageList {
  /// How many files are kept at most.
  static let most = 10_000
  private static let name = BytePath("damage.json")
  /// More than the longest list takes.
  private static let longest = 64 << 20

  /// A file, and what is wrong with it.
  package struct Entry: Hashable, Codable, Sendable {
    package var kind: VerificationProblem.Kind
    /// A sentence for people.
    package var message: String
    /// In microseconds since 1970.
    var time: Int64
    /// What its bytes ought to hash to.
    var digest: Digest
    /// The key of a rendition; `nil` for an original.
    package var rendition: Int64?
    /// Inode, size, and the times of modification and of change of the file that was read.
    var file: [Int64]?

    /// When it was found.
    package var foundAt: Timestamp { Timestamp(microseconds: time) }
  }

  private enum Subject: Hashable {
    case original(Digest)
    case rendition(Int64)
  }

  private var entries: [Subject: Entry] = [:]
  /// Whether the list differs from what is kept.
  private var hasChanged = false

  /// Reads the list; an empty one where none is kept, or it can't be read.
  package static func read(in library: LibraryFolder) -> DamageList {
    var list = DamageList()
    // The next verification finds everything again.
    guard let bytes = try? library.folder.readFile(name, limit: longest),
      let entries = try? JSONText.decode([Entry].self, from: bytes)
    else { return list }
    for entry in entries.prefix(most) { list.entries[subject(entry)] = entry }
    return list
  }

  private static func subject(_ entry: Entry) -> Subject {
    entry.rendition.map { .rendition($0) } ?? .original(entry.digest)
  }

  // MARK: Writing

  /// Forgets what was found of an original.
  mutating func forget(_ original: Digest) { forget(.original(original)) }

  /// Forgets what was found of a rendition.
  mutating func forget(_ rendition: Int64) { forget(.rendition(rendition)) }

  private mutating func forget(_ subject: Subject) {
    if entries.removeValue(forKey: subject) != nil { hasChanged = true }
  }

  /// Forgets renditions that no longer are.
  mutating func forgetFormer(in catalog: CatalogReader) throws(CatalogError) {
    for entry in entries.values {
      guard let id = entry.rendition else { continue }
      if try catalog.rendition(id)?.digest != entry.digest { forget(id) }
    }
  }

  /// Adds a problem of an original or a rendition; any other is passed over.
  mutating func note(_ problem: VerificationProblem) {
    switch problem.kind {
    case .originalMissing, .originalDamaged, .renditionMissing, .renditionDamaged: break
    default: return
    }
    guard let digest = problem.digest, entries.count < Self.most else { return }
    let entry = Entry(
      kind: problem.kind, message: problem.message, time: Timestamp.now.microseconds,
      digest: digest, rendition: problem.rendition, file: problem.path.flatMap(Self.file))
    entries[Self.subject(entry)] = entry
    hasChanged = true
  }

  /// Keeps the list, if it has changed.
  ///
  /// - Returns: why it could not be kept, or `nil`.
  mutating func save(in library: LibraryFolder) -> String? {
    guard hasChanged else { return nil }
    do throws(FileError) {
      if entries.isEmpty {
        try library.folder.removeIfThere(Self.name)
      } else {
        let sorted = entries.values.sorted { ($0.time, $0.digest.hex) < ($1.time, $1.digest.hex) }
        guard let text = try? JSONText.encode(sorted) else { return "It can't be written as JSON." }
        try library.folder.writeDurably(Array((text + "\n").utf8), as: Self.name)
      }
      hasChanged = false
      return nil
    } catch {
      return error.message
    }
  }

  // MARK: Reading

  /// The damage that nothing has changed since, by the assets that it concerns.
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
    // One in the database that is made again has another key.
    return rendition.path.map { isUnchanged(library.layout.root.appending($0), entry) } ?? true
  }

  /// Whether there is the file that was read, or none: it may have been put aside.
  private func isUnchanged(_ path: BytePath, _ entry: Entry) -> Bool {
    let file = Self.file(path)
    return file == nil || file == entry.file
  }

  /// What tells a file from another one that has its place; `nil` where there is none.
  private static func file(_ path: BytePath) -> [Int64]? {
    guard let identity = try? FileSystem.status(of: path).identity else { return nil }
    return [
      Int64(bitPattern: identity.inode), Int64(identity.size), identity.modified, identity.changed,
    ]
  }
}
