package import Files
import Glibc
package import PipelineModel

/// Originals as read-only files in a tree of folders on a local file system.
package final class FolderStore: OriginalStore {
  private let root: Descriptor
  private let damaged: BytePath
  private let flush: GroupFlush

  /// Opens the tree.
  ///
  /// - Parameters:
  ///   - root: the folder `originals/`.
  ///   - damaged: the folder for what is found damaged; made when it is needed.
  package init(root: BytePath, damaged: BytePath) throws(FileError) {
    self.root = try Descriptor.openFolder(root)
    self.damaged = damaged
    flush = GroupFlush(self.root)
  }

  package func put(_ files: [IncomingOriginal]) throws(FileError) -> [PutOutcome] {
    var touched: [BytePath: Descriptor] = [:]
    var rootIsTouched = false
    var outcomes: [PutOutcome] = []
    for file in files {
      let name = OriginalLayout.folder(of: file.digest)
      let folder: Descriptor
      if let open = touched[name] {
        folder = open
      } else {
        if try root.makeFolder(name) { rootIsTouched = true }
        folder = try Descriptor.openFolder(name, in: root, followsLinks: false)
        touched[name] = folder
      }
      do {
        try file.folder.rename(file.name, to: folder, as: OriginalLayout.name(of: file.digest))
        outcomes.append(.stored)
      } catch let error where error.code == .exists {
        outcomes.append(.present)
      }
    }
    // `present` may be the work of a process that was killed before its own
    // flush, so those folders are synced as well.
    if flush.run(files: touched.count) { return outcomes }
    for folder in touched.values { try folder.sync() }
    if rootIsTouched { try root.sync() }
    return outcomes
  }

  package func materialize(_ digest: Digest) throws(FileError) -> BytePath {
    let path = root.path.appending(OriginalLayout.path(of: digest))
    let file = try open(digest)
    guard try file.status().kind == .regular else {
      throw FileError(.notRegular, "“\(path.printable)” is no regular file.", path: path)
    }
    return path
  }

  package func verify(
    _ digest: Digest, isStopped: @escaping () -> Bool
  ) throws(FileError) -> OriginalCondition {
    do throws(FileError) {
      return try condition(of: digest, isStopped)
    } catch let error where error.code == .notFound {
      return .missing
    } catch let error where error.code == .ioError {
      return .unreadable(error)
    }
  }

  private func condition(
    of digest: Digest, _ isStopped: @escaping () -> Bool
  ) throws(FileError) -> OriginalCondition {
    let file = try open(digest)
    let first = try file.hash(isStopped: isStopped)
    if first.digest == digest { return .whole(size: first.size) }
    // Read twice, from the disk and not from the cache, before bytes are called damaged.
    posix_fadvise(file.number, 0, 0, POSIX_FADV_DONTNEED)
    try file.seek(to: 0)
    let second = try file.hash(isStopped: isStopped)
    if second.digest == digest { return .whole(size: second.size) }
    return .damaged(actual: second.digest, size: second.size)
  }

  package func heal(_ file: IncomingOriginal) throws(FileError) {
    let folderName = OriginalLayout.folder(of: file.digest)
    if try root.makeFolder(folderName) { try root.sync() }
    let folder = try Descriptor.openFolder(folderName, in: root, followsLinks: false)
    let name = OriginalLayout.name(of: file.digest)
    try setAside(name, of: folder)
    try file.folder.rename(file.name, to: folder, as: name)
    try folder.sync()
  }

  package func setAside(_ digest: Digest) throws(FileError) {
    do throws(FileError) {
      let folder = try Descriptor.openFolder(
        OriginalLayout.folder(of: digest), in: root, followsLinks: false)
      try setAside(OriginalLayout.name(of: digest), of: folder)
      try folder.sync()
    } catch let error where error.code == .notFound {
      return
    }
  }

  package func release(
    _ digest: Digest, to place: Descriptor, as name: BytePath
  ) throws(FileError) {
    let folder = try Descriptor.openFolder(
      OriginalLayout.folder(of: digest), in: root, followsLinks: false)
    try folder.rename(OriginalLayout.name(of: digest), to: place, as: name)
    try folder.sync()
  }

  package func remove(_ digest: Digest) throws(FileError) {
    do {
      let folder = try Descriptor.openFolder(
        OriginalLayout.folder(of: digest), in: root, followsLinks: false)
      try folder.remove(OriginalLayout.name(of: digest))
      try folder.sync()
    } catch let error where error.code == .notFound {
      return
    }
  }

  package func forEach(_ body: (StoredEntry) throws(FileError) -> Void) throws(FileError) {
    for entry in try root.entries() {
      guard try kind(of: entry, in: root) == .folder, entry.name.bytes.count == 2 else {
        try body(.foreign(root.path.appending(entry.name)))
        continue
      }
      let folder = try Descriptor.openFolder(entry.name, in: root, followsLinks: false)
      for file in try folder.entries() {
        let status = try folder.status(of: file.name)
        if status.kind == .regular,
          let digest = OriginalLayout.digest(folder: entry.name, name: file.name)
        {
          try body(.original(digest, status))
        } else {
          try body(.foreign(folder.path.appending(file.name)))
        }
      }
    }
  }

  private func open(_ digest: Digest) throws(FileError) -> Descriptor {
    let folder = try Descriptor.openFolder(
      OriginalLayout.folder(of: digest), in: root, followsLinks: false)
    return try Descriptor.open(
      OriginalLayout.name(of: digest), in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  }

  private func kind(of entry: FolderEntry, in folder: Descriptor) throws(FileError)
    -> FileStatus.Kind
  {
    if let kind = entry.kind { return kind }
    return try folder.status(of: entry.name).kind
  }

  /// Moves a damaged file to `damaged/`, under a number that is free.
  private func setAside(_ name: BytePath, of folder: Descriptor) throws(FileError) {
    let parent = try Descriptor.openFolder(damaged.parent)
    if try parent.makeFolder(damaged.lastComponent) { try parent.sync() }
    let place = try Descriptor.openFolder(damaged.lastComponent, in: parent, followsLinks: false)
    for number in 1...10_000 {
      do {
        try folder.rename(
          name, to: place, as: BytePath(bytes: name.bytes + Array(".\(number)".utf8)))
        try place.sync()
        return
      } catch let error where error.code == .notFound {
        return
      } catch let error where error.code == .exists {
        continue
      }
    }
    throw FileError(
      .exists, "“\(damaged.printable)” holds 10,000 damaged copies of \(name); clear it.",
      path: damaged)
  }
}
