package import Catalog
import Files
import Glibc
import Manifest
import ObjectStorage
import Originals
package import PipelineModel
import Records

/// Moves the originals of a locked library between its own folder and a bucket.
///
/// 1. each original stored in the new place, which compares its bytes with its name; those that are
///    there already, from a move that was interrupted, are left
/// 2. a bucket gets a copy of the manifest, and the library says where they are, durable
/// 3. each read again in the new place, replaced there by the old one if it is not whole, and then removed from the old
///    one, unless that is kept
///
/// After a kill, the same move continues.
package struct OriginalsMove {
  package struct Result: Sendable {
    /// How many were stored in the new place.
    package var copied = 0
    package var bytes = 0
    /// How many were removed from the old place.
    package var removed = 0
    /// How many recorded originals are in neither place.
    package var missing = 0
  }

  /// How far it is.
  package enum Step: Sendable {
    case copying(Int, of: Int)
    case comparing(Int, of: Int)
  }

  /// The most files and bytes that are copied together.
  private static let mostFiles = 32
  private static let mostBytes = 64 << 20

  /// What the names of its files in `incoming/` begin with.
  private static let prefix = "move-"

  /// Whether a file in `incoming/` is a copy that a killed move left; the original is elsewhere.
  static func isCopy(_ name: BytePath) -> Bool { name.bytes.starts(with: Array(prefix.utf8)) }

  private let library: LibraryFolder
  private let old: any OriginalStore
  private let new: any OriginalStore
  private let target: BucketLocation?
  private let catalog: CatalogReader
  private let reserve: @Sendable (Int) -> Int
  private let isStopped: @Sendable () -> Bool

  /// - Parameters:
  ///   - library: opened without a bucket in its layout.
  ///   - target: the bucket; `nil` for the library's own folder.
  ///   - configured: the bucket that the configuration names, and how it is reached.
  ///   - reserve: returns the space to leave free on a disk of some size, both in bytes.
  /// - Throws: `IngestError` if they are there already, and were never elsewhere.
  package init(
    _ library: LibraryFolder, to target: BucketLocation?, configured: BucketLocation?,
    catalog: CatalogReader, reserve: @escaping @Sendable (Int) -> Int,
    isStopped: @escaping @Sendable () -> Bool
  ) throws {
    self.library = library
    self.target = target
    self.catalog = catalog
    self.reserve = reserve
    self.isStopped = isStopped
    try Self.requireAlone(library, catalog)
    try library.prepareFolders()
    let folder = try library.openOwnOriginals()
    // Where they were before a move that was interrupted, if it is not where they are.
    let recorded = library.bucket ?? (target == nil ? configured : nil)
    let bucket = configured?.name == recorded?.name ? configured : recorded
    switch (bucket, target) {
    case (let bucket?, let target?) where bucket.name != target.name:
      throw IngestError(
        .notALibrary,
        "The originals of “\(library.layout.root.printable)” are in “\(bucket.name)”. Move them to the "
          + "library first, with `pipeline move-originals library`.", path: library.layout.root)
    case (_, let target?):
      old = folder
      new = library.openBucket(target, mayClaim: library.bucket == nil, isStopped: isStopped)
    case (let bucket?, nil):
      old = library.openBucket(bucket, isStopped: isStopped)
      new = folder
    case (nil, nil):
      throw IngestError(
        .notALibrary,
        "The originals of “\(library.layout.root.printable)” are in the library already.",
        path: library.layout.root)
    }
  }

  /// Refuses while other machines read originals: they would take those that are gone for lost.
  private static func requireAlone(_ library: LibraryFolder, _ catalog: CatalogReader) throws {
    guard let other = try catalog.participantBeside() else { return }
    throw IngestError(
      .locked,
      "`pipeline \(other.verb)` on \(other.node) (process \(other.process)) reads the originals of "
        + "“\(library.layout.root.printable)”. End it first; the originals stay where they are.",
      path: library.layout.root)
  }

  /// Whether the library says already that they are in the new place.
  private var isSwitched: Bool { library.bucket?.name == target?.name }

  /// - Parameters:
  ///   - keepsOld: whether to leave the originals in the old place as well.
  ///   - progress: called now and then.
  /// - Throws: `FileError`; what was moved stays moved, and the library says where originals are.
  package func run(keepsOld: Bool, progress: (Step) -> Void) throws -> Result {
    var result = Result()
    try old.check()
    try new.check()
    // Without their names in the bucket as well, originals would lose them with this machine.
    let comparison = try target.map { try manifestComparison($0) }
    // Before hours of copying.
    try comparison?.compare()
    var originals = try list()
    if isSwitched {
      // What a killed move has put there may not be on disk yet.
      try new.flushAll()
      result.missing = try countMissing(besides: originals.map(\.digest)).missing
    } else {
      originals += try restored(besides: originals)
      try copyAll(originals, &result, progress)
      result.missing = try requireMost(besides: originals.map(\.digest))
      // Copying may have taken hours.
      try Self.requireAlone(library, catalog)
      if let comparison { _ = try comparison.complete(comparison.sizes()) }
      try LibraryFolder.write(
        LibraryMarker(library: library.marker.library, bucket: target), to: library.folder)
    }
    try compareAll(originals, keepsOld: keepsOld, &result, progress)
    return result
  }

  /// The manifest beside its copies in a bucket.
  private func manifestComparison(_ target: BucketLocation) throws -> ManifestComparison {
    let identity = library.marker.library
    let manifest = try library.openManifest()
    try manifest.sync()
    return ManifestComparison(
      manifest: manifest,
      bucket: OwnedBucket(target, for: "originals", identity: identity, isStopped: isStopped),
      identity: identity)
  }

  private func copyAll(
    _ originals: [Original], _ result: inout Result, _ progress: (Step) -> Void
  ) throws {
    var sizes: [Digest: Int] = [:]
    try new.forEach { entry throws(FileError) in
      if case .original(let digest, let size, _) = entry { sizes[digest] = size }
    }
    let rest = originals.filter { sizes[$0.digest] != $0.size }
    if target == nil {
      // Local copies of those in the bucket can be fetched again.
      try MoveRoom(folder: library.layout.originals, reserve: reserve).require(
        rest.reduce(0) { $0 + $1.size }, for: "The originals to be stored take",
        freeing: old.makeRoom)
    }
    var done = originals.count - rest.count
    let incoming = try library.openPart(library.layout.incoming)
    let flush = GroupFlush(incoming)
    for group in Self.groups(of: rest) {
      progress(.copying(done, of: originals.count))
      try requireNotStopped()
      try copy(group, by: incoming, flush)
      done += group.count
      result.copied += group.count
      result.bytes += group.reduce(0) { $0 + $1.size }
    }
    // Of those that were there.
    try new.flushAll()
  }

  private func compareAll(
    _ originals: [Original], keepsOld: Bool, _ result: inout Result, _ progress: (Step) -> Void
  ) throws {
    var done = 0
    let incoming = try library.openPart(library.layout.incoming)
    let flush = GroupFlush(incoming)
    for group in Self.groups(of: originals) {
      progress(.comparing(done, of: originals.count))
      try requireNotStopped()
      let conditions = group.map(width: new.readsAtOnce) { [new, isStopped] original in
        Swift.Result { () throws(FileError) in
          try new.verify(original.digest, isStopped: isStopped)
        }
      }
      for (original, condition) in zip(group, conditions) {
        let digest = original.digest
        let condition = try condition.get()
        // Deleted for good since it was copied.
        if condition == .missing, try !catalog.hasOriginal(digest) { continue }
        if !condition.isWhole {
          // It was there before, with the right size, or is damaged since.
          try replace(original, by: incoming, flush)
          result.copied += 1
          result.bytes += original.size
        }
        guard !keepsOld else { continue }
        try old.remove(digest)
        result.removed += 1
      }
      // All were just read, whatever was found where they were.
      DamageList.forget(group.map(\.digest), in: library.folder)
      done += group.count
    }
  }

  /// Puts an original in the place of one that is not whole.
  ///
  /// - Throws: `FileError` of code `changed` if that in the old place is not whole either, or that in the new one stays so.
  private func replace(
    _ original: Original, by incoming: Descriptor, _ flush: GroupFlush
  ) throws(FileError) {
    let item = IncomingOriginal(
      folder: incoming, name: Self.name(of: original), digest: original.digest)
    // Clean-up: the original is where it was.
    defer { try? incoming.removeIfThere(item.name) }
    let (here, there) = (old.path(of: item.digest), new.path(of: item.digest))
    do throws(FileError) {
      let file = try Self.copy(original, from: old, to: incoming, isStopped: isStopped)
      if !new.leavesFiles, !flush.run(files: 1) { try file.sync() }
    } catch let error where error.code == .changed {
      throw FileError(
        .changed,
        "“\(there.printable)” is not whole, nor is “\(here.printable)”; both are kept. Import a good copy of the file, and "
          + "move again: `pipeline verify` says which it was.", path: there)
    }
    try new.heal(item)
    guard try new.verify(item.digest, isStopped: isStopped).isWhole else {
      throw FileError(
        .changed,
        "“\(there.printable)” is not whole, though “\(here.printable)” was just stored there, and is kept. Is the disk, "
          + "or the store, damaged?", path: there)
    }
  }

  /// Originals in groups of limited size.
  private static func groups(of originals: [Original]) -> [[Original]] {
    var groups: [[Original]] = []
    var bytes = Int.max
    for original in originals {
      if bytes >= mostBytes || groups.last?.count == mostFiles {
        groups.append([])
        bytes = 0
      }
      groups[groups.count - 1].append(original)
      bytes += original.size
    }
    return groups
  }

  private func requireNotStopped() throws(FileError) {
    if isStopped() { throw .stopped(library.layout.root) }
  }

  private typealias Original = (digest: Digest, size: Int)

  /// Puts recorded originals that the old place has lost back there from local copies, if there are any.
  private func restored(besides originals: [Original]) throws -> [Original] {
    let listed = Set(originals.map(\.digest))
    var restored: [Original] = []
    try forEachRecorded { digest in
      guard !listed.contains(digest) else { return }
      do throws(FileError) {
        guard try old.restore(digest), let size = try old.size(of: digest) else { return }
        restored.append((digest, size))
      } catch {
        // The copy is not whole.
        guard error.code == .changed else { throw error }
      }
    }
    return restored
  }

  private func forEachRecorded(_ body: (Digest) throws -> Void) throws {
    for byte in UInt8.min...UInt8.max { try catalog.originals(beginningWith: byte, body) }
  }

  /// The originals in the old place, each once.
  private func list() throws(FileError) -> [Original] {
    var originals: [Original] = []
    var listed: Set<Digest> = []
    try old.forEach { entry throws(FileError) in
      switch entry {
      case .original(let digest, let size, _):
        if listed.insert(digest).inserted { originals.append((digest, size)) }
      case .unreadable(let error): throw error
      case .foreign: break
      }
    }
    return originals
  }

  /// Copies originals to the new place.
  ///
  /// - Throws: `FileError`; some are then there and others not.
  private func copy(
    _ originals: [Original], by incoming: Descriptor, _ flush: GroupFlush
  ) throws(FileError) {
    // Clean-up: the originals are where they were.
    defer { for original in originals { try? incoming.removeIfThere(Self.name(of: original)) } }
    let copies = originals.map(width: old.readsAtOnce) { [old, isStopped] original in
      Swift.Result { () throws(FileError) in
        try Self.copy(original, from: old, to: incoming, isStopped: isStopped)
      }
    }
    let files = try copies.map { copy throws(FileError) in try copy.get() }
    // A bucket gets their bytes, a folder the files themselves.
    if !new.leavesFiles, !flush.run(files: files.count) {
      for file in files { try file.sync() }
    }
    let items = originals.map {
      IncomingOriginal(folder: incoming, name: Self.name(of: $0), digest: $0.digest)
    }
    for (item, (original, outcome)) in zip(items, zip(originals, try new.put(items))) {
      switch outcome {
      case .stored: break
      case .present:
        // An upload whose answer was lost is sent again, and is then there.
        if try new.size(of: item.digest) != original.size { try new.heal(item) }
      case .failed(let error): throw error
      }
    }
  }

  private static func name(of original: Original) -> BytePath {
    BytePath("\(prefix)\(original.digest)")
  }

  /// Copies an original to `incoming/`; it is on disk once that is flushed.
  private static func copy(
    _ original: Original, from store: any OriginalStore, to incoming: Descriptor,
    isStopped: @escaping @Sendable () -> Bool
  ) throws(FileError) -> Descriptor {
    let name = name(of: original)
    try incoming.removeIfThere(name)
    let file = try Descriptor.open(
      name, in: incoming, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    let digest = original.digest
    guard try store.copy(digest, to: file, isStopped: isStopped) == digest else {
      throw FileError(
        .changed,
        "“\(store.path(of: digest).printable)” is damaged, so nothing was removed and the library is as "
          + "it was. Run `pipeline verify --repair`, without \"originals\" in pipeline.json if they are in the library, and "
          + "move again. If no asset has it, set it aside by hand.", path: store.path(of: digest))
    }
    try file.setPermissions(0o444)
    try file.writePages()
    return file
  }

  /// Makes sure that each original is in the new place, by its list, and that this is not far from all.
  ///
  /// - Parameter digests: those of the old place.
  /// - Returns: how many recorded ones are in neither.
  private func requireMost(besides digests: [Digest]) throws -> Int {
    let (missing, recorded, unlisted) = try countMissing(besides: digests)
    if let first = unlisted {
      throw FileError(
        .other, "“\(new.path(of: first).printable)” was stored, and is not listed.",
        path: new.path(of: first))
    }
    guard missing * 2 <= recorded else {
      let place = library.bucket?.name ?? library.layout.originals.printable
      throw IngestError(
        .notALibrary,
        "\(missing) of \(recorded) recorded originals are not in “\(place)”, so nothing was switched: it is another place, "
          + "or was emptied. `pipeline verify` says more.", path: library.layout.root)
    }
    return missing
  }

  /// Counts recorded originals, and those of them that are neither in the new place nor among some of the old one.
  ///
  /// - Returns: also the first of these that is not in the new place.
  private func countMissing(
    besides digests: [Digest]
  ) throws -> (missing: Int, recorded: Int, unlisted: Digest?) {
    var listed: Set<Digest> = []
    try new.forEach { entry throws(FileError) in
      if case .original(let digest, _, _) = entry { listed.insert(digest) }
    }
    let unlisted = digests.first { !listed.contains($0) }
    listed.formUnion(digests)
    var (missing, recorded) = (0, 0)
    try forEachRecorded { digest in
      recorded += 1
      if !listed.contains(digest) { missing += 1 }
    }
    return (missing, recorded, unlisted)
  }
}
