package import Files
import Glibc
package import PipelineModel

/// Originals as read-only files in a folder tree on a local file system.
package final class FolderStore: OriginalStore {
  private let library: Descriptor
  private let root: Descriptor
  private let damaged: BytePath
  private let flush: GroupFlush

  /// Opens the tree.
  ///
  /// - Parameters:
  ///   - library: the parent of both folders, neither of which may be a link.
  ///   - damaged: the name of the folder for damaged files; made when needed.
  package init(
    in library: Descriptor, originals: BytePath = "originals", damaged: BytePath = "damaged"
  ) throws(FileError) {
    self.library = library
    self.damaged = damaged
    root = try Self.openOwnFolder(originals, in: library)
    flush = GroupFlush(root)
  }

  package func check() throws(FileError) { _ = try root.status() }

  package func put(_ files: [IncomingOriginal]) throws(FileError) -> [PutOutcome] {
    var touched: [BytePath: Descriptor] = [:]
    var rootIsTouched = false
    var outcomes: [PutOutcome] = []
    for file in files {
      do throws(FileError) {
        let name = OriginalLayout.folder(of: file.digest)
        let folder: Descriptor
        if let open = touched[name] {
          folder = open
        } else {
          if try root.makeFolder(name) { rootIsTouched = true }
          folder = try self.folder(of: file.digest)
          touched[name] = folder
        }
        try file.folder.rename(file.name, to: folder, as: OriginalLayout.name(of: file.digest))
        outcomes.append(.stored)
      } catch {
        // A link in place of one folder must not keep the other files from being stored.
        outcomes.append(error.code == .exists ? .present : .failed(error))
      }
    }
    // `present` may be the work of a process killed before its flush, so sync those folders, too.
    if flush.run(files: touched.count) { return outcomes }
    for folder in touched.values { try folder.sync() }
    if rootIsTouched { try root.sync() }
    return outcomes
  }

  package func flushAll() throws(FileError) {
    for byte in UInt8.min...UInt8.max {
      let folder = try ifThere { () throws(FileError) in
        try Descriptor.openFolder(OriginalLayout.folder(of: byte), in: root, followsLinks: false)
      }
      try folder?.sync()
    }
    try root.sync()
  }

  package func copy(
    _ digest: Digest, to file: Descriptor, isStopped: @escaping @Sendable () -> Bool
  ) throws(FileError) -> Digest {
    try file.fill(from: open(digest), isStopped: isStopped)
  }

  package func lease(_ digest: Digest) throws(FileError) -> LocalOriginal {
    _ = try file(of: digest)
    return LocalOriginal(path: path(of: digest))
  }

  package func open(_ digest: Digest) throws(FileError) -> Descriptor { try file(of: digest) }

  package func ownFile(of digest: Digest) throws(FileError) -> Descriptor? { try file(of: digest) }

  package func isOriginal(_ file: FileStatus, _ digest: Digest) throws(FileError) -> Bool {
    let original = try ifThere { () throws(FileError) in try open(digest).status() }
    return original?.isSameNode(as: file) ?? false
  }

  package func size(of digest: Digest) throws(FileError) -> Int? {
    try ifThere { () throws(FileError) in
      let folder = try folder(of: digest)
      let name = OriginalLayout.name(of: digest)
      let status = try folder.status(of: name)
      guard status.kind == .regular else {
        throw .notRegular(folder.path.appending(name), status.kind)
      }
      return status.identity.size
    }
  }

  package func verify(
    _ digest: Digest, isStopped: @escaping @Sendable () -> Bool
  ) throws(FileError) -> OriginalCondition {
    do throws(FileError) {
      return try condition(of: digest, isStopped)
    } catch {
      switch error.code {
      case .stopped: throw error
      case .notFound: return .missing
      default: return .unreadable(error)
      }
    }
  }

  private func condition(
    of digest: Digest, _ isStopped: @escaping () -> Bool
  ) throws(FileError) -> OriginalCondition {
    let file = try file(of: digest)
    let first = try file.hashFromDisk(isStopped: isStopped)
    if first.digest == digest { return .whole(size: first.size) }
    // Read twice before calling bytes damaged.
    let second = try file.hashFromDisk(isStopped: isStopped)
    if second.digest == digest { return .whole(size: second.size) }
    return .damaged(actual: second.digest, size: second.size)
  }

  package func heal(_ file: IncomingOriginal) throws(FileError) {
    if try root.makeFolder(OriginalLayout.folder(of: file.digest)) { try root.sync() }
    let folder = try folder(of: file.digest)
    let name = OriginalLayout.name(of: file.digest)
    try setAside(name, of: folder)
    try file.folder.rename(file.name, to: folder, as: name)
    try folder.sync()
  }

  package func restore(_ digest: Digest) -> Bool { false }

  package func setAside(_ digest: Digest) throws(FileError) -> Bool {
    let found = try ifThere { () throws(FileError) in try folder(of: digest) }
    guard let folder = found else { return false }
    let isSetAside = try setAside(OriginalLayout.name(of: digest), of: folder)
    try folder.sync()
    return isSetAside
  }

  package var releases: Bool { true }

  package var leavesFiles: Bool { false }

  /// More make a spinning disk seek.
  package var readsAtOnce: Int { 1 }

  package func makeRoom(_ bytes: Int) {}

  package func keepCopies(of files: [IncomingOriginal]) {}

  package func release(
    _ digest: Digest, to place: Descriptor, as name: BytePath
  ) throws(FileError) {
    let folder = try folder(of: digest)
    try folder.rename(OriginalLayout.name(of: digest), to: place, as: name)
    try folder.sync()
  }

  package func remove(_ digest: Digest, onLoss: (() -> Void)?) throws(FileError) {
    try ifThere { () throws(FileError) in
      let folder = try folder(of: digest)
      try folder.remove(OriginalLayout.name(of: digest))
      try folder.sync()
    }
  }

  package func path(of digest: Digest) -> BytePath {
    root.path.appending(OriginalLayout.path(of: digest))
  }

  package var damagedPlace: BytePath { library.path.appending(damaged) }

  package func removeRemnants() -> Int { 0 }

  package func forEach(
    beginningWith byte: UInt8, _ body: (StoredEntry) throws(FileError) -> Void
  ) throws(FileError) {
    let name = OriginalLayout.folder(of: byte)
    let opened = try looking(body) { () throws(FileError) in
      let folder = try self.folder(named: name)
      return (folder, try folder.entries())
    }
    guard let (folder, entries) = opened else { return }
    for entry in entries {
      let looked = try looking(body) { () throws(FileError) in
        try folder.status(of: entry.name)
      }
      guard let status = looked else { continue }
      if status.kind == .regular,
        let digest = OriginalLayout.digest(folder: name, name: entry.name)
      {
        try body(.original(digest, size: status.identity.size, file: status.identity))
      } else {
        try body(.foreign(folder.path.appending(entry.name)))
      }
    }
  }

  package func forEachForeign(_ body: (StoredEntry) throws(FileError) -> Void) throws(FileError) {
    let folders = Set((UInt8.min...UInt8.max).map { OriginalLayout.folder(of: $0) })
    for entry in try root.entries() where !folders.contains(entry.name) {
      try body(.foreign(root.path.appending(entry.name)))
    }
  }

  /// Runs `look`; passes an error to `body`, unless nothing is there.
  ///
  /// - Returns: what `look` returns; `nil` if it failed.
  private func looking<Seen>(
    _ body: (StoredEntry) throws(FileError) -> Void, _ look: () throws(FileError) -> Seen
  ) throws(FileError) -> Seen? {
    let failure: FileError
    do throws(FileError) { return try look() } catch { failure = error }
    if failure.code != .notFound { try body(.unreadable(failure)) }
    return nil
  }

  private func file(of digest: Digest) throws(FileError) -> Descriptor {
    try Descriptor.openRegular(OriginalLayout.name(of: digest), in: folder(of: digest))
  }

  private func folder(of digest: Digest) throws(FileError) -> Descriptor {
    try folder(named: OriginalLayout.folder(of: digest))
  }

  private func folder(named name: BytePath) throws(FileError) -> Descriptor {
    try Self.openOwnFolder(name, in: root)
  }

  /// Opens one of the store's own folders; a link or file in its place is not a missing folder.
  private static func openOwnFolder(
    _ name: BytePath, in parent: Descriptor
  ) throws(FileError) -> Descriptor {
    do throws(FileError) {
      return try Descriptor.openFolder(name, in: parent, followsLinks: false)
    } catch let error where error.errno == ENOTDIR {
      let path = parent.path.appending(name)
      throw FileError(
        .link,
        "“\(path.printable)” is a link or a file. Put the library's own folder back in its place.",
        path: path)
    }
  }

  /// Moves whatever has an original's name to `damaged/`, under a free number.
  ///
  /// - Returns: whether there was anything.
  @discardableResult
  private func setAside(_ name: BytePath, of folder: Descriptor) throws(FileError) -> Bool {
    if try library.makeFolder(damaged) { try library.sync() }
    let place = try Self.openOwnFolder(damaged, in: library)
    for number in 1...10_000 {
      do {
        try folder.rename(
          name, to: place, as: BytePath(bytes: name.bytes + Array(".\(number)".utf8)))
        try place.sync()
        return true
      } catch let error where error.code == .notFound {
        return false
      } catch let error where error.code == .exists {
        continue
      }
    }
    throw FileError(
      .exists, "“\(place.path.printable)” holds 10,000 damaged copies of \(name); clear it.",
      path: place.path)
  }
}

/// Paths of originals: `ab/<sha256>` below `originals/`.
///
/// One level of 256 folders: flushing 16,384 renamed files took 1.9 s, with two levels 4.6 s.
package enum OriginalLayout {
  /// The folder's name: the first two digits of the digest.
  package static func folder(of digest: Digest) -> BytePath {
    BytePath(String(digest.hex.prefix(2)))
  }

  /// The name of the folder for digests that begin with a byte.
  package static func folder(of byte: UInt8) -> BytePath {
    BytePath(Hexadecimal.encode([byte]))
  }

  /// The file's name: all digits of the digest.
  package static func name(of digest: Digest) -> BytePath { BytePath(digest.hex) }

  package static func path(of digest: Digest) -> BytePath {
    folder(of: digest).appending(name(of: digest))
  }

  /// The digest that a folder and a name stand for, or `nil` if they name no original.
  package static func digest(folder: BytePath, name: BytePath) -> Digest? {
    guard let text = name.utf8, let digest = Digest(text), digest.hex == text,
      self.folder(of: digest) == folder
    else { return nil }
    return digest
  }
}
