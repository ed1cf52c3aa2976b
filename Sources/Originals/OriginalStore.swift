package import Files
package import PipelineModel

/// The place that keeps immutable bytes under their SHA-256 for ever.
///
/// One conformance suite in the tests holds every implementation.
package protocol OriginalStore: Sendable {
  /// Keeps files whose bytes are hashed, read-only and already on disk.
  ///
  /// One flush serves the whole group. When this returns, every original is
  /// durable under its name and the given files are gone, except those whose
  /// digest was there before: they are reported `present` and left alone.
  ///
  /// - Throws: `FileError` if the store could not be flushed; then each file is either
  ///   stored or still where it was.
  func put(_ files: [IncomingOriginal]) throws(FileError) -> [PutOutcome]

  /// Returns a local file with the bytes, to be read only.
  ///
  /// - Throws: `FileError` of code `notFound` if the original is missing, `notRegular` if
  ///   something else has its place.
  func materialize(_ digest: Digest) throws(FileError) -> BytePath

  /// Reads an original from its disk, as far as that can be asked for, and compares its bytes
  /// with its name.
  ///
  /// - Parameter isStopped: whether to leave it; asked for every two mebibytes.
  /// - Throws: `FileError` of code `stopped` if that is true, and nothing else.
  func verify(
    _ digest: Digest, isStopped: @escaping () -> Bool
  ) throws(FileError) -> OriginalCondition

  /// Puts good bytes in place of a damaged or missing original; what is there
  /// now, be it a file or not, is kept apart, never overwritten.
  func heal(_ file: IncomingOriginal) throws(FileError)

  /// Moves what has the place of an original apart, never over anything; where
  /// nothing has it, that is no error.
  func setAside(_ digest: Digest) throws(FileError)

  /// Renames an original out of the store, never over anything, on the store's
  /// own file system. The folder that it comes to is the caller's to flush.
  ///
  /// - Throws: `FileError` of code `exists` if the name is taken, `crossDevice`
  ///   for another file system; then the original is where it was.
  func release(_ digest: Digest, to folder: Descriptor, as name: BytePath) throws(FileError)

  /// Removes an original for good; one that is not there is no error.
  func remove(_ digest: Digest) throws(FileError)

  /// Calls `body` with each original whose digest begins with a byte, in no order, and with what
  /// is among them and is none.
  ///
  /// - Throws: what the body throws: one entry that can't be looked at is given as such.
  func forEach(
    beginningWith byte: UInt8, _ body: (StoredEntry) throws(FileError) -> Void
  ) throws(FileError)

  /// Calls `body` with what is in the store and among no originals.
  func forEachForeign(_ body: (StoredEntry) throws(FileError) -> Void) throws(FileError)
}

extension OriginalStore {
  /// Keeps one file.
  ///
  /// - Returns: whether it is the original now; `false` if one was there before.
  package func put(_ file: IncomingOriginal) throws(FileError) -> Bool {
    switch try put([file]).first {
    case .present: return false
    case .failed(let error): throw error
    case .stored, nil: return true
    }
  }

  /// Reads an original to its end and compares its bytes with its name.
  package func verify(_ digest: Digest) throws(FileError) -> OriginalCondition {
    try verify(digest) { false }
  }

  /// Calls `body` with each original and with all else that is in the store.
  package func forEach(
    _ body: (StoredEntry) throws(FileError) -> Void
  ) throws(FileError) {
    for byte in UInt8.min...UInt8.max { try forEach(beginningWith: byte, body) }
    try forEachForeign(body)
  }
}

/// A file that is ready to become an original.
package struct IncomingOriginal: Sendable {
  /// The folder that the file is in, on the store's own file system.
  package var folder: Descriptor
  /// The file's name there.
  package var name: BytePath
  /// The SHA-256 of its bytes.
  package var digest: Digest

  package init(folder: Descriptor, name: BytePath, digest: Digest) {
    self.folder = folder
    self.name = name
    self.digest = digest
  }
}

/// What `put` did with a file.
package enum PutOutcome: Hashable, Sendable {
  /// The file is the original now.
  case stored
  /// An original with this digest was there before; its bytes were not read.
  case present
  /// It could not be stored and is where it was.
  case failed(FileError)
}

/// What reading an original showed.
package enum OriginalCondition: Hashable, Sendable {
  /// The bytes hash to the name.
  case whole(size: Int)
  /// There is no such file.
  case missing
  /// The bytes, read twice, hash to something else.
  case damaged(actual: Digest, size: Int)
  /// It can't be read: the error has the code `notRegular` where something else has its place.
  case unreadable(FileError)
}

/// What a store holds at one place.
package enum StoredEntry: Hashable, Sendable {
  /// An original, with what the kernel knows of it.
  case original(Digest, FileStatus)
  /// Something that does not belong there.
  case foreign(BytePath)
  /// Something that can't be looked at, such as a folder of originals.
  case unreadable(FileError)
}
