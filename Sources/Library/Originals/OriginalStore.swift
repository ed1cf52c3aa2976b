package import Files
import Glibc
package import PipelineModel

/// A store that keeps immutable bytes under their SHA-256 forever.
///
/// All implementations pass one conformance suite.
package protocol OriginalStore: Sendable {
  /// Looks whether originals can be stored now.
  ///
  /// - Throws: `FileError`, of code `unavailable` if they can be later.
  func check() throws(FileError)

  /// Stores files that are hashed, read-only and already on disk.
  ///
  /// One flush serves the whole group. On return, every original is durable under its name, and the
  /// given files are gone, except those whose digest was already stored: they are reported
  /// `present` and left alone. A store that `leavesFiles` leaves all of them.
  ///
  /// - Throws: `FileError` if the store could not be flushed; each file is then either stored or
  ///   still where it was.
  func put(_ files: [IncomingOriginal]) throws(FileError) -> [PutOutcome]

  /// Makes durable what another process stored, which may have been killed before it could.
  func flushAll() throws(FileError)

  /// Returns a local file with the bytes, for reading only.
  ///
  /// - Throws: `FileError` of code `notFound` if the original is missing, `notRegular` if something
  ///   else is in its place.
  func lease(_ digest: Digest) throws(FileError) -> LocalOriginal

  /// Writes the bytes of an original to an empty file, and keeps no copy.
  ///
  /// - Returns: their digest, which is another one if they are damaged.
  /// - Throws: as `lease`, and `FileError` of code `stopped` if `isStopped` returns true.
  func copy(
    _ digest: Digest, to file: Descriptor, isStopped: @escaping @Sendable () -> Bool
  ) throws(FileError) -> Digest

  /// Returns the size of an original in bytes, without reading it; `nil` if it is missing.
  ///
  /// - Throws: `FileError` of code `notRegular` if something else is in its place.
  func size(of digest: Digest) throws(FileError) -> Int?

  /// Reads an original from disk, past the cache where possible, and compares its bytes with its
  /// name.
  ///
  /// - Parameter isStopped: whether to stop; called every 2 MiB.
  /// - Throws: `FileError` of code `stopped` if `isStopped` returns true, or `unavailable` if the store
  ///   can't be used for now, and nothing else.
  func verify(
    _ digest: Digest, isStopped: @escaping @Sendable () -> Bool
  ) throws(FileError) -> OriginalCondition

  /// How many originals are best read at the same time.
  var readsAtOnce: Int { get }

  /// Whether `put` and `heal` leave the given files where they are, for the caller to remove once the
  /// originals are recorded.
  var leavesFiles: Bool { get }

  /// Keeps some of the files that `put` or `heal` has left as local copies, by another name of theirs.
  ///
  /// Call it only once the journal has that they are stored. Before that they may have to go back to
  /// where they came from, and would be one with the copies.
  func keepCopies(of files: [IncomingOriginal])

  /// Removes local copies of originals, which can be fetched again, if so many bytes become free by that.
  func makeRoom(_ bytes: Int)

  /// Replaces a damaged or missing original with good bytes; sets aside whatever is in its place,
  /// never overwriting it.
  func heal(_ file: IncomingOriginal) throws(FileError)

  /// Puts good bytes that the store still has elsewhere, such as a local copy, in the place of a damaged
  /// or missing original; sets aside whatever is there.
  ///
  /// - Returns: whether there were any.
  func restore(_ digest: Digest) throws(FileError) -> Bool

  /// Sets aside whatever is in an original's place, never replacing anything.
  ///
  /// A store that other machines write to looks again before, as one of them may have healed the original.
  ///
  /// - Returns: `false` if nothing was there, or nothing damaged any more.
  @discardableResult
  func setAside(_ digest: Digest) throws(FileError) -> Bool

  /// Opens an original for reading; the bytes stay readable even if it is removed.
  ///
  /// - Throws: as `lease`.
  func open(_ digest: Digest) throws(FileError) -> Descriptor

  /// Opens the file that keeps an original's bytes; `nil` if they are there, but not in a file of this
  /// machine.
  ///
  /// - Throws: as `lease`.
  func ownFile(of digest: Digest) throws(FileError) -> Descriptor?

  /// Whether a file is the stored original itself, seen under another name or through another mount,
  /// or what the store reads instead of it.
  func isOriginal(_ file: FileStatus, _ digest: Digest) throws(FileError) -> Bool

  /// Whether originals can be renamed out of the store.
  var releases: Bool { get }

  /// Renames an original out of the store, within its file system, never replacing anything.
  ///
  /// The caller flushes the destination folder.
  ///
  /// - Throws: `FileError` of code `exists` if the name is taken, `crossDevice` for another file
  ///   system; the original then stays where it was.
  func release(_ digest: Digest, to folder: Descriptor, as name: BytePath) throws(FileError)

  /// Removes an original permanently; succeeds if it is missing.
  ///
  /// - Parameter onLoss: called for each request that was not answered, which a server may still perform.
  func remove(_ digest: Digest, onLoss: (() -> Void)?) throws(FileError)

  /// Where people find an original: the path of its file, or what names its object.
  func path(of digest: Digest) -> BytePath

  /// Where damaged originals are set aside.
  var damagedPlace: BytePath { get }

  /// Ends what a killed process left half stored, such as uploads in parts; call it while nothing is
  /// stored.
  ///
  /// - Returns: how many there were.
  func removeRemnants() throws(FileError) -> Int

  /// Calls `body` with each original whose digest begins with a byte, in no order, and with
  /// anything else found among them.
  ///
  /// - Throws: what `body` throws, and `FileError` of code `unavailable` if the store can't be used for
  ///   now; an entry that can't be examined is passed to `body`.
  func forEach(
    beginningWith byte: UInt8, _ body: (StoredEntry) throws(FileError) -> Void
  ) throws(FileError)

  /// Calls `body` with everything outside the folders of originals; throws as above.
  func forEachForeign(_ body: (StoredEntry) throws(FileError) -> Void) throws(FileError)
}

extension OriginalStore {
  /// Stores one file.
  ///
  /// - Returns: whether it is now the original; `false` if one was already stored.
  package func put(_ file: IncomingOriginal) throws(FileError) -> Bool {
    switch try put([file]).first {
    case .present: return false
    case .failed(let error): throw error
    case .stored, nil: return true
    }
  }

  /// Removes an original permanently; succeeds if it is missing.
  package func remove(_ digest: Digest) throws(FileError) { try remove(digest, onLoss: nil) }

  /// Whether an original is there, without reading it.
  package func isThere(_ digest: Digest) throws(FileError) -> Bool { try size(of: digest) != nil }

  /// Calls `body` with each original and everything else in the store.
  package func forEach(_ body: (StoredEntry) throws(FileError) -> Void) throws(FileError) {
    for byte in UInt8.min...UInt8.max { try forEach(beginningWith: byte, body) }
    try forEachForeign(body)
  }
}

/// A local file with the bytes of an original.
///
/// It stays in its place for as long as this is kept, unless the original itself is removed or released.
package final class LocalOriginal: Sendable {
  package let path: BytePath
  private let end: @Sendable () -> Void

  /// - Parameter end: called when the file is no longer needed.
  package init(path: BytePath, end: @escaping @Sendable () -> Void = {}) {
    self.path = path
    self.end = end
  }

  /// Opens the file, whose bytes then stay readable.
  package func open() throws(FileError) -> Descriptor {
    try withExtendedLifetime(self) { () throws(FileError) in
      try Descriptor.open(path, flags: O_RDONLY | O_NOFOLLOW)
    }
  }

  deinit { end() }
}

/// A file ready to become an original.
package struct IncomingOriginal: Sendable {
  /// The file's folder, on the store's own file system.
  package var folder: Descriptor
  package var name: BytePath
  package var digest: Digest

  package init(folder: Descriptor, name: BytePath, digest: Digest) {
    self.folder = folder
    self.name = name
    self.digest = digest
  }
}

/// What `put` did with a file.
package enum PutOutcome: Hashable, Sendable {
  /// The file, or a copy of it, is now the original.
  case stored
  /// An original with this digest was already stored; its bytes were not read.
  case present
  /// It could not be stored and is where it was.
  case failed(FileError)
}

/// The result of reading an original.
package enum OriginalCondition: Hashable, Sendable {
  /// The bytes hash to the name.
  case whole(size: Int)
  case missing
  /// The bytes, read twice, hash to something else.
  case damaged(actual: Digest, size: Int)
  /// It can't be read; the code is `notRegular` if something else is in its place.
  case unreadable(FileError)

  package var isWhole: Bool {
    if case .whole = self { true } else { false }
  }
}

/// An entry in a store.
package enum StoredEntry: Hashable, Sendable {
  /// An original: its size in bytes, and its file if it has one of its own.
  case original(Digest, size: Int, file: FileIdentity?)
  /// Something that does not belong there.
  case foreign(BytePath)
  /// Something that can't be examined, such as a folder of originals.
  case unreadable(FileError)
}

extension FileError {
  /// The error of an original that was read and is not what was stored.
  package static func damagedOriginal(_ path: BytePath) -> FileError {
    FileError(
      .changed,
      "The original “\(path.printable)” is damaged: its bytes don't match its hash. Import the file "
        + "again from a good copy to repair it.", path: path)
  }
}
