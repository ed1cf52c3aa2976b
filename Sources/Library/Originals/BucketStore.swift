package import Files
import Glibc
import Hashing
package import ObjectStorage
package import PipelineModel
import Synchronization

/// Originals as objects in an S3 bucket: `originals/ab/<sha256>` below the location's prefix.
///
/// The store itself compares each upload with the digest that is its name. Nothing is ever overwritten,
/// apart from damage that was copied to `damaged/` first.
package final class BucketStore: OriginalStore {
  package let bucket: OwnedBucket
  private let copies: LocalCopies

  /// How many files are sent or read at once.
  private static let transfers = 8
  private static let folder = "originals/"
  private static let damaged = "damaged/"

  /// - Parameters:
  ///   - library: the library's folder, which contains `cache/`.
  ///   - cacheBudget: the most bytes of local copies.
  package init(_ bucket: OwnedBucket, library: Descriptor, cacheBudget: Int) {
    self.bucket = bucket
    copies = LocalCopies(in: library, budget: cacheBudget)
  }

  /// The address of the server.
  package func server() throws(FileError) -> String { try bucket.server() }

  /// Tries what the safety of originals rests on.
  ///
  /// - Throws: `FileError` of code `unavailable` for a store that lacks it.
  package func probe() throws(FileError) { try bucket.probe() }

  package func check() throws(FileError) { try bucket.check() }

  package var releases: Bool { false }

  package var leavesFiles: Bool { true }

  package var readsAtOnce: Int { Self.transfers }

  package func makeRoom(_ bytes: Int) {
    // A cache that can't be opened has nothing to give.
    try? copies.cacheIfWritable()?.empty(toFree: bytes)
  }

  // MARK: Storing

  package func put(_ files: [IncomingOriginal]) throws(FileError) -> [PutOutcome] {
    do throws(FileError) { try bucket.requireOwn() } catch {
      return files.map { _ in .failed(error) }
    }
    let absence = Absence()
    var firsts: Set<Digest> = []
    let isRepeated = files.map { !firsts.insert($0.digest).inserted }
    var outcomes = Array(files.indices).map(width: Self.transfers) { [self] index in
      // Files with the same bytes come after all others.
      isRepeated[index] ? PutOutcome.present : put(files[index], absence)
    }
    for index in files.indices where isRepeated[index] {
      outcomes[index] = put(files[index], absence)
    }
    return outcomes
  }

  /// Why the store can't be used, once that was seen: other files then need not wait for it.
  private final class Absence: Sendable {
    let reason = Mutex<FileError?>(nil)
  }

  private func put(_ file: IncomingOriginal, _ absence: Absence) -> PutOutcome {
    if let error = absence.reason.withLock({ $0 }) { return .failed(error) }
    do throws(FileError) {
      return try upload(file, isNew: true) ? .stored : .present
    } catch {
      if error.code == .unavailable { absence.reason.withLock { $0 = error } }
      return .failed(error)
    }
  }

  /// - Returns: whether it was stored; `false` if an original is there already.
  private func upload(_ file: IncomingOriginal, isNew: Bool) throws(FileError) -> Bool {
    let descriptor = try Descriptor.openRegular(file.name, in: file.folder)
    return try bucket.client().put(
      descriptor, size: descriptor.status().identity.size, as: Self.key(of: file.digest),
      digest: file.digest, isNew: isNew)
  }

  package func keepCopies(of files: [IncomingOriginal]) {
    // It only saves fetching the bytes.
    guard !files.isEmpty, let cache = try? copies.cache() else { return }
    for file in files { cache.adopt(file) }
  }

  /// The server has stored what it acknowledged.
  package func flushAll() {}

  package func heal(_ file: IncomingOriginal) throws(FileError) {
    try bucket.requireOwn()
    try copyAside(file.digest)
    _ = try upload(file, isNew: false)
  }

  package func restore(_ digest: Digest) throws(FileError) -> Bool {
    guard let copy = try copies.cacheIfWritable()?.lease(digest) else { return false }
    let file = try copy.open()
    try copyAside(digest)
    return try bucket.client().put(
      file, size: file.status().identity.size, as: Self.key(of: digest), digest: digest,
      isNew: false)
  }

  package func setAside(_ digest: Digest) throws(FileError) -> Bool {
    let key = Self.key(of: digest)
    let before = try bucket.client().look(at: key)
    // Other machines take no lock to put whole bytes there, which must stay. The client stops when the process ends.
    guard case .damaged = try verify(digest, isStopped: { false }), try copyAside(digest) else {
      return false
    }
    let now = try bucket.client().look(at: key)
    guard let now, now.size == before?.size, now.tag == before?.tag else { return false }
    try bucket.client().remove(key)
    return true
  }

  /// Copies whatever has an original's name to `damaged/`, under a free number.
  ///
  /// - Returns: whether there was anything.
  @discardableResult
  private func copyAside(_ digest: Digest) throws(FileError) -> Bool {
    try bucket.requireOwn()
    guard try size(of: digest) != nil else { return false }
    let taken = try bucket.client().names(below: "\(Self.damaged)\(digest.hex).")
    let number = (1...10_000).first { !taken.contains("\($0)") }
    guard let number else {
      throw FileError(
        .exists,
        "“\(path(Self.damaged).printable)” holds 10,000 damaged copies of \(digest); clear it.",
        path: path(Self.damaged))
    }
    try bucket.client().copy(Self.key(of: digest), to: "\(Self.damaged)\(digest.hex).\(number)")
    return true
  }

  package func release(
    _ digest: Digest, to folder: Descriptor, as name: BytePath
  ) throws(FileError) {
    throw FileError(
      .crossDevice, "“\(path(of: digest).printable)” can't be renamed to a local folder.",
      path: folder.path)
  }

  package func remove(_ digest: Digest, onLoss: (() -> Void)?) throws(FileError) {
    try bucket.requireOwn()
    try bucket.client().remove(Self.key(of: digest), onLoss: onLoss)
    try copies.cacheIfWritable()?.remove(digest)
  }

  // MARK: Reading

  package func lease(_ digest: Digest) throws(FileError) -> LocalOriginal {
    guard let cache = try copies.cacheIfWritable() else { return try fetchToTemporaryFile(digest) }
    if let copy = try cache.lease(digest) { return copy }
    do throws(FileError) {
      return try cache.add(digest) { file, begin throws(FileError) in
        try fetch(digest, to: file, began: begin)
      }
    } catch {
      switch error.code {
      case .changed: throw .damagedOriginal(path(of: digest))
      case .readOnly, .permission: return try fetchToTemporaryFile(digest)
      default: throw error
      }
    }
  }

  package func copy(
    _ digest: Digest, to file: Descriptor, isStopped: @escaping @Sendable () -> Bool
  ) throws(FileError) -> Digest {
    // It only saves fetching the bytes.
    if let local = try? OriginalCache.ifPresent(in: copies.library)?.open(digest, isTrusted: true) {
      if (try? file.fill(from: local, isStopped: isStopped)) == digest { return digest }
      try file.truncate(to: 0)
      try file.seek(to: 0)
    }
    let hash = SHA256()
    let path = path(of: digest)
    try read(digest) { piece throws(FileError) in
      if isStopped() { throw .stopped(path) }
      hash.update(piece)
      try file.write(piece)
    }
    return hash.finalize()
  }

  /// In a library that can't be written, as in a backup.
  private func fetchToTemporaryFile(_ digest: Digest) throws(FileError) -> LocalOriginal {
    let (file, folder, name) = try LocalCopies.makeTemporaryFile()
    // Clean-up only.
    let copy = LocalOriginal(path: folder.path.appending(name)) { try? folder.remove(name) }
    try fetch(digest, to: file)
    try file.seek(to: 0)
    guard try file.hash().digest == digest else { throw .damagedOriginal(path(of: digest)) }
    return copy
  }

  package func open(_ digest: Digest) throws(FileError) -> Descriptor {
    try lease(digest).open()
  }

  /// Reads an original into an empty file.
  ///
  /// - Parameter began: called with its size in bytes before it is written.
  private func fetch(
    _ digest: Digest, to file: Descriptor, began: @escaping (Int) -> Void = { _ in }
  ) throws(FileError) {
    try read(digest, began: began) { piece throws(FileError) in try file.write(piece) }
  }

  /// Reads an original.
  ///
  /// - Throws: `FileError` of code `notFound` if it is missing, and what `body` throws.
  private func read(
    _ digest: Digest, began: @escaping (Int) -> Void = { _ in },
    _ body: @escaping (UnsafeRawBufferPointer) throws(FileError) -> Void
  ) throws(FileError) {
    // Another bucket may have the name, or this one may have been emptied.
    try bucket.requireOwn()
    do throws(FileError) {
      try bucket.client().get(Self.key(of: digest), began: began, body)
    } catch let error where error.code == .notFound {
      throw missing(digest)
    }
  }

  package func size(of digest: Digest) throws(FileError) -> Int? {
    try bucket.requireOwn()
    return try bucket.client().size(of: Self.key(of: digest))
  }

  package func ownFile(of digest: Digest) throws(FileError) -> Descriptor? {
    guard try size(of: digest) != nil else { throw missing(digest) }
    return nil
  }

  package func isOriginal(_ file: FileStatus, _ digest: Digest) throws(FileError) -> Bool {
    try copies.cacheIfWritable()?.isCopy(file, of: digest) ?? false
  }

  package func verify(
    _ digest: Digest, isStopped: @escaping @Sendable () -> Bool
  ) throws(FileError) -> OriginalCondition {
    do throws(FileError) {
      let first = try hash(digest, isStopped)
      if first.digest == digest { return .whole(size: first.size) }
      // Read twice before calling bytes damaged.
      let second = try hash(digest, isStopped)
      if second.digest == digest { return .whole(size: second.size) }
      return .damaged(actual: second.digest, size: second.size)
    } catch {
      switch error.code {
      case .stopped, .unavailable: throw error
      case .notFound: return .missing
      default: return .unreadable(error)
      }
    }
  }

  private func hash(
    _ digest: Digest, _ isStopped: @escaping () -> Bool
  ) throws(FileError) -> (digest: Digest, size: Int) {
    let hash = SHA256()
    var size = 0
    var asked = 0
    let path = path(of: digest)
    try read(digest) { piece throws(FileError) in
      hash.update(piece)
      size += piece.count
      guard size - asked >= 2 << 20 else { return }
      asked = size
      if isStopped() { throw .stopped(path) }
    }
    if isStopped() { throw .stopped(path) }
    return (hash.finalize(), size)
  }

  // MARK: Listing

  package func removeRemnants() throws(FileError) -> Int {
    try bucket.requireOwn()
    return try bucket.client().abandonUploads(below: Self.folder)
  }

  package func forEach(
    beginningWith byte: UInt8, _ body: (StoredEntry) throws(FileError) -> Void
  ) throws(FileError) {
    try bucket.requireOwn()
    let folder = OriginalLayout.folder(of: byte)
    let prefix = "\(Self.folder)\(folder)/"
    try bucket.client().list(prefix) { entry throws(FileError) in
      let name = BytePath(String(entry.key.dropFirst(prefix.count)))
      if let digest = OriginalLayout.digest(folder: folder, name: name) {
        try body(.original(digest, size: entry.size, file: nil))
      } else {
        try body(.foreign(path(entry.key)))
      }
    }
  }

  package func forEachForeign(_ body: (StoredEntry) throws(FileError) -> Void) throws(FileError) {
    try bucket.requireOwn()
    let folders = Set((UInt8.min...UInt8.max).map { "\(OriginalLayout.folder(of: $0))/" })
    for name in try bucket.client().names(below: Self.folder).sorted() where !folders.contains(name)
    {
      try body(.foreign(path(Self.folder + name)))
    }
  }

  // MARK: Names

  private static func key(of digest: Digest) -> String {
    "\(folder)\(OriginalLayout.path(of: digest))"
  }

  package var damagedPlace: BytePath { path(Self.damaged) }

  package func path(of digest: Digest) -> BytePath { path(Self.key(of: digest)) }

  private func path(_ key: String) -> BytePath { bucket.path(key) }

  private func missing(_ digest: Digest) -> FileError {
    let path = path(of: digest)
    return FileError(.notFound, "“\(path.printable)” is missing from the store.", path: path)
  }
}
