package import Files
import Glibc
import Hashing
package import PipelineModel
import Synchronization

/// Local copies of originals and renditions that a bucket keeps: `cache/ab/<sha256>` in the library.
///
/// Any process may fill it, with or without the library's lock. Nothing in it is needed, so nothing is
/// flushed: each process hashes a file before it uses it the first time. Who uses a file holds a shared
/// lock on it; the least recently used of the others make room for new ones. No file takes another one's place:
/// somebody may be using that by its path.
package final class OriginalCache: Sendable {
  /// The folder in the library.
  package static let name: BytePath = "cache"
  /// What a file has as its name until it is complete.
  private static let temporaryPrefix = ".new-"

  private let folder: Descriptor
  /// The most bytes of all files together.
  private let budget: Int
  private let state = Mutex(State())

  private struct State {
    /// The inodes of files whose bytes this process has seen to be right.
    var checked: [Digest: UInt64] = [:]
    /// The bytes of all files, as far as this process knows.
    var sum: Int?
  }

  /// The most files remembered as checked.
  private static let mostChecked = 100_000

  /// Opens the cache, and makes its folder if it is missing.
  ///
  /// - Parameter budget: the most bytes of all files together. One that is in use stays for as long.
  package init(in library: Descriptor, budget: Int) throws(FileError) {
    if try library.statusIfThere(of: Self.name) == nil { try library.makeFolder(Self.name) }
    folder = try Descriptor.openFolder(Self.name, in: library, followsLinks: false)
    try folder.requireOwn("The library's folder")
    self.budget = budget
  }

  private init(_ folder: Descriptor) {
    self.folder = folder
    budget = 0
  }

  /// Opens the cache for reading only; `nil` if there is none.
  package static func ifPresent(in library: Descriptor) throws(FileError) -> OriginalCache? {
    let folder = try ifThere { () throws(FileError) in
      try Descriptor.openFolder(name, in: library, followsLinks: false)
    }
    return folder.map { OriginalCache($0) }
  }

  /// Whether it is still the one that its name leads to: it may have been removed, or moved away.
  func isInPlace(in library: Descriptor) -> Bool {
    guard let named = try? library.statusIfThere(of: Self.name), let own = try? folder.status()
    else { return false }
    return named.isSameNode(as: own)
  }

  // MARK: Reading

  /// Returns the copy of an original for as long as it is needed; `nil` if there is none whose bytes are
  /// right.
  package func lease(_ digest: Digest) throws(FileError) -> LocalOriginal? {
    guard let file = try open(digest) else { return nil }
    let path = folder.path.appending(OriginalLayout.path(of: digest))
    return LocalOriginal(path: path) { [self] in
      file.unlock()
      trim()
    }
  }

  /// Opens the copy of an original, with a lock that keeps it in its place; `nil` as above.
  ///
  /// - Parameter isTrusted: whether another process has just checked and used it.
  package func open(
    _ digest: Digest, isTrusted: Bool = false
  ) throws(FileError) -> Descriptor? {
    let name = OriginalLayout.name(of: digest)
    let opened: (Descriptor, Descriptor)?
    do throws(FileError) {
      opened = try ifThere { () throws(FileError) in
        let place = try self.place(of: digest)
        return (place, try Descriptor.openRegular(name, in: place))
      }
    } catch let error where error.code == .notRegular {
      // Somebody put something else there.
      try place(of: digest).removeTree(FolderEntry(name: name, kind: nil))
      return nil
    }
    // A process that removes it holds the other kind of lock.
    guard let (place, file) = opened, file.lockIfFree(isShared: true) != nil,
      let now = try place.statusIfThere(of: name), now.isSameNode(as: try file.status())
    else { return nil }
    if isTrusted { return file }
    let inode = now.identity.inode
    if state.withLock({ $0.checked[digest] }) != inode {
      guard try file.hash().digest == digest else {
        try place.removeIfThere(name)
        return nil
      }
      try file.seek(to: 0)
      noteChecked(digest, inode)
    }
    // When it was last used. A library that can't be written forgets nothing anyway.
    _ = futimens(file.number, nil)
    return file
  }

  /// Whether a file is the copy of an original.
  package func isCopy(_ file: FileStatus, of digest: Digest) throws(FileError) -> Bool {
    let found = try ifThere { () throws(FileError) in
      try place(of: digest).status(of: OriginalLayout.name(of: digest))
    }
    return found?.isSameNode(as: file) ?? false
  }

  private func place(of digest: Digest) throws(FileError) -> Descriptor {
    try Descriptor.openFolder(OriginalLayout.folder(of: digest), in: folder, followsLinks: false)
  }

  private func noteChecked(_ digest: Digest, _ inode: UInt64) {
    state.withLock { state in
      if state.checked.count >= Self.mostChecked { state.checked = [:] }
      state.checked[digest] = inode
    }
  }

  // MARK: Writing

  /// Adds the copy of an original.
  ///
  /// - Parameter fill: writes the bytes to an empty file, after it has called a function with their number.
  /// - Returns: the copy.
  /// - Throws: `FileError`, of code `changed` if the bytes are not the original's, `unsupported` if they are too many for the
  ///   file system, and what `fill` throws.
  package func add(
    _ digest: Digest,
    _ fill: (Descriptor, @escaping (Int) -> Void) throws(FileError) -> Void
  ) throws(FileError) -> LocalOriginal {
    let size = Atomic(0)
    let begin: @Sendable (Int) -> Void = { [self] bytes in
      size.store(bytes, ordering: .relaxed)
      makeRoom(for: bytes)
    }
    do throws(FileError) {
      return try addOnce(digest, begin, fill)
    } catch let error where error.code == .noSpace {
      // Nothing here is needed.
      makeRoom(for: budget)
      do throws(FileError) {
        return try addOnce(digest, begin, fill)
      } catch let error where error.code == .noSpace {
        throw noRoom(size.load(ordering: .relaxed), error)
      }
    }
  }

  /// The error for a copy without room: of code `unsupported` if it had none even if it were the only one.
  private func noRoom(_ bytes: Int, _ error: FileError) -> FileError {
    var failure = error
    failure.message =
      "There is no room in “\(folder.path.printable)” for the local copy of an original: make room on its file system. "
      + error.message
    // With what others are just adding.
    if let free = try? folder.fileSystem().freeBytes, let entries = try? survey(),
      bytes > free + entries.reduce(0, { $0 + $1.size })
    {
      failure.code = .unsupported
    }
    return failure
  }

  private func addOnce(
    _ digest: Digest, _ begin: @escaping (Int) -> Void,
    _ fill: (Descriptor, @escaping (Int) -> Void) throws(FileError) -> Void
  ) throws(FileError) -> LocalOriginal {
    let (file, temporary) = try makeTemporaryFile()
    do throws(FileError) {
      try fill(file, begin)
      try file.seek(to: 0)
      let (found, size) = try file.hash()
      guard found == digest else {
        throw FileError(
          .changed, "What was read as the original \(digest) has other bytes.", path: nil)
      }
      try file.setPermissions(0o444)
      if let copy = try place(temporary, digest) { return copy }
      noteChecked(digest, try file.status().identity.inode)
      state.withLock { state in state.sum = state.sum.map { $0 + size } }
    } catch {
      // Clean-up: the first error is the one to report.
      try? folder.remove(temporary)
      throw error
    }
    let path = folder.path.appending(OriginalLayout.path(of: digest))
    return LocalOriginal(path: path) { [self] in
      file.unlock()
      trim()
    }
  }

  /// Gives a complete file its name.
  ///
  /// - Returns: the copy that another job or process has added meanwhile, instead of it; `nil` if there was none.
  private func place(
    _ temporary: BytePath, _ digest: Digest
  ) throws(FileError) -> LocalOriginal? {
    var tries = 1
    while true {
      try folder.makeFolder(OriginalLayout.folder(of: digest))
      do throws(FileError) {
        try folder.rename(
          temporary, to: place(of: digest), as: OriginalLayout.name(of: digest))
        return nil
      } catch let error where error.code == .exists && tries < 1000 {
        if let copy = try lease(digest) {
          try folder.remove(temporary)
          return copy
        }
        // It is just being removed.
        tries += 1
        usleep(1000)
      }
    }
  }

  /// Makes an empty file without a name, for what is read once.
  func makeNamelessFile() throws(FileError) -> Descriptor {
    let (file, name) = try makeTemporaryFile()
    try folder.remove(name)
    return file
  }

  /// Makes an empty file that no other process takes for what a killed one left.
  private func makeTemporaryFile() throws(FileError) -> (Descriptor, BytePath) {
    while true {
      let name = BytePath(
        "\(Self.temporaryPrefix)\(String(UInt64.random(in: .min ... .max), radix: 16))")
      let file = try Descriptor.open(
        name, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      // Before it was locked, it may have been taken for one and removed.
      if file.lockIfFree(isShared: true) != nil, try folder.statusIfThere(of: name) != nil {
        return (file, name)
      }
    }
  }

  /// Keeps a file that is stored in the bucket and goes soon: it gets a second name here.
  ///
  /// Without links on this file system, it is fetched when it is needed.
  package func adopt(_ file: IncomingOriginal) {
    do throws(FileError) {
      let size = try file.folder.status(of: file.name).identity.size
      guard size <= budget / 2 else { return }
      makeRoom(for: size)
      try link(file)
      state.withLock { state in state.sum = state.sum.map { $0 + size } }
    } catch {
      // Nothing depends on it.
      return
    }
  }

  /// Whoever replaced the file meanwhile is found out when the copy is first used.
  private func link(_ file: IncomingOriginal) throws(FileError) {
    try folder.makeFolder(OriginalLayout.folder(of: file.digest))
    try file.folder.link(
      file.name, to: place(of: file.digest), as: OriginalLayout.name(of: file.digest))
  }

  /// Removes the copy of an original.
  package func remove(_ digest: Digest) throws(FileError) {
    try ifThere { () throws(FileError) in
      try place(of: digest).removeIfThere(OriginalLayout.name(of: digest))
    }
  }

  // MARK: Room

  /// Removes all copies that nobody uses, if so many bytes become free by that.
  package func empty(toFree bytes: Int) {
    guard let entries = try? survey(), entries.reduce(0, { $0 + $1.size }) >= bytes else { return }
    makeRoom(for: .max)
  }

  private struct Entry {
    var folder: BytePath
    var name: BytePath
    var size: Int
    /// When it was last used.
    var used: Int64
  }

  private func trim() {
    if state.withLock({ ($0.sum ?? 0) > budget }) { makeRoom(for: 0) }
  }

  /// Removes the least recently used files until an eighth of the budget is free beside a new file, if
  /// there is too little room for it.
  private func makeRoom(for bytes: Int) {
    if let sum = state.withLock({ $0.sum }), sum <= budget, bytes <= budget - sum { return }
    // A cache that can't be examined or emptied only takes space; the next process tries again.
    guard var entries = try? survey() else { return }
    var sum = entries.reduce(0) { $0 + $1.size }
    if sum > budget || bytes > budget - sum {
      let goal = bytes > budget ? 0 : max(0, budget - bytes - budget / 8)
      entries.sort { $0.used < $1.used }
      for entry in entries where sum > goal {
        if (try? removeIfUnused(entry)) == true { sum -= entry.size }
      }
    }
    state.withLock { $0.sum = sum }
  }

  private func removeIfUnused(_ entry: Entry) throws(FileError) -> Bool {
    let place =
      entry.folder.bytes.isEmpty
      ? folder : try Descriptor.openFolder(entry.folder, in: folder, followsLinks: false)
    let file = try Descriptor.openRegular(entry.name, in: place)
    guard file.lockIfFree() != nil else { return false }
    try place.removeIfThere(entry.name)
    return true
  }

  /// Lists all files; what a killed process left incomplete counts as never used.
  private func survey() throws(FileError) -> [Entry] {
    var entries: [Entry] = []
    for inner in try folder.entries() {
      if inner.name.bytes.starts(with: Array(Self.temporaryPrefix.utf8)) {
        let size = try folder.statusIfThere(of: inner.name)?.identity.size ?? 0
        let entry = Entry(folder: BytePath(bytes: []), name: inner.name, size: size, used: .min)
        if (try? removeIfUnused(entry)) != true { entries.append(entry) }
        continue
      }
      guard inner.name.bytes.count == 2, Hexadecimal.decode(inner.name.bytes) != nil else {
        continue
      }
      let place = try Descriptor.openFolder(inner.name, in: folder, followsLinks: false)
      for entry in try place.entries() {
        guard let status = try place.statusIfThere(of: entry.name) else { continue }
        entries.append(
          Entry(
            folder: inner.name, name: entry.name, size: status.identity.size,
            used: status.identity.modified))
      }
    }
    return entries
  }
}
