package import Files
import Glibc
package import PipelineModel

/// A library that was found, or made, and is not necessarily locked yet.
package struct LibraryFolder: Sendable {
  /// The names in it.
  package let layout: LibraryLayout
  /// Its identity.
  package let marker: LibraryMarker
  /// The open folder.
  package let folder: Descriptor

  /// Opens a library.
  ///
  /// - Throws: `IngestError` of code `notALibrary` where the folder or its
  ///   marker is missing, `newerVersion` for a later format.
  package static func open(_ layout: LibraryLayout) throws(IngestError) -> LibraryFolder {
    let folder: Descriptor
    do throws(FileError) {
      folder = try Descriptor.openFolder(layout.root)
    } catch let error where error.code == .notFound {
      throw IngestError(
        .notALibrary,
        "There is no library at “\(layout.root.printable)”: `pipeline run` makes one, "
          + "or mount the disk that it is on.", path: layout.root)
    } catch {
      throw IngestError(error)
    }
    let marker: LibraryMarker
    do {
      let bytes = try folder.readFile(LibraryLayout.marker, limit: 1 << 16)
      marker = try JSONText.decode(LibraryMarker.self, from: bytes)
    } catch let error as FileError where error.code == .notFound {
      throw IngestError(
        .notALibrary,
        "“\(layout.root.printable)” has no library.json, so it is no library. If it is an empty "
          + "mount point, mount the disk; if it is a folder for a new library, remove it and "
          + "`pipeline run` makes it.", path: layout.root)
    } catch let error as FileError {
      throw IngestError(error)
    } catch {
      throw IngestError(
        .notALibrary,
        "“\(layout.root.appending(LibraryLayout.marker).printable)” can't be read: \(error).",
        path: layout.root)
    }
    guard marker.format <= LibraryMarker.currentFormat else {
      throw IngestError(
        .newerVersion,
        "“\(layout.root.printable)” has format \(marker.format), made by a newer version of "
          + "pipeline; this one knows format \(LibraryMarker.currentFormat). Use the newer one.",
        path: layout.root)
    }
    return LibraryFolder(layout: layout, marker: marker, folder: folder)
  }

  /// Opens a library, or makes it where nothing is at its path.
  ///
  /// - Parameters:
  ///   - neighbour: a folder on the file system that a new library has to be on.
  ///   - mounts: where disks ought to be mounted, and are.
  package static func openOrMake(
    _ layout: LibraryLayout, neighbour: BytePath, mounts: MountTable = MountTable()
  ) throws(IngestError) -> LibraryFolder {
    do throws(FileError) {
      let parent = try Descriptor.openFolder(layout.root.parent)
      do throws(FileError) {
        _ = try parent.status(of: layout.root.lastComponent)
      } catch let error where error.code == .notFound {
        let beside = try Descriptor.openFolder(neighbour)
        guard try parent.status().device == beside.status().device else {
          throw FileError(
            .crossDevice,
            "There is no library at “\(layout.root.printable)”, and it would be on another file "
              + "system than the configuration: if its disk is not mounted, mount it; else make "
              + "the library with `pipeline init` there.", path: layout.root)
        }
        if let point = try mounts.missingMount(above: layout.root) {
          throw FileError(
            .notFound,
            "There is no library at “\(layout.root.printable)”, and none is made, because no disk is "
              + "mounted at “\(point.printable)” as /etc/fstab says: mount it. If it is not meant to "
              + "be there any more, take it out of /etc/fstab.", path: layout.root)
        }
        try make(layout, in: parent)
      }
    } catch {
      throw IngestError(error)
    }
    return try open(layout)
  }

  /// Makes a library under a temporary name and renames it, so that it is there whole or not at all.
  ///
  /// One process at a time makes libraries in a folder; one that comes second
  /// finds the first one's.
  ///
  /// - Returns: whether it was made; `false` if it was there by now.
  @discardableResult
  package static func make(_ layout: LibraryLayout, in parent: Descriptor) throws(FileError) -> Bool
  {
    try parent.lockFolder()
    defer { parent.unlockFolder() }
    let name = layout.root.lastComponent
    do throws(FileError) {
      _ = try parent.status(of: name)
      return false
    } catch let error where error.code == .notFound {
      // To be made.
    }
    // A fixed name, so that what a kill leaves behind is finished the next time.
    let temporary = BytePath(bytes: Array(".".utf8) + name.bytes + Array(".new".utf8))
    try parent.makeFolder(temporary, mode: 0o700)
    let folder = try Descriptor.openFolder(temporary, in: parent, followsLinks: false)
    for name in LibraryLayout.folders { try folder.makeFolder(BytePath(name)) }
    let clock = AssetIDGenerator { UInt64(Timestamp.now.microseconds / 1000) }
    let marker = LibraryMarker(library: clock.next().description)
    guard let text = try? JSONText.encodePretty(marker) else {
      throw FileError(.other, "library.json can't be written as JSON.", path: layout.root)
    }
    try folder.writeDurably(Array((text + "\n").utf8), as: LibraryLayout.marker)
    try parent.rename(temporary, to: parent, as: name)
    try parent.sync()
    return true
  }

  /// Takes the library's lock, trying again until `wait` is over.
  ///
  /// - Throws: `IngestError` of code `locked` if another process keeps it.
  package func lock(
    wait: TimeSpan = TimeSpan(milliseconds: 0), isStopped: () -> Bool = { false }
  ) throws(IngestError) -> FileLock {
    let clock = ContinuousClock()
    // `status` and `verify` hold the lock for an instant to ask about it.
    let deadline = clock.now + max(wait.duration, .milliseconds(60))
    while true {
      if let lock = try attemptLock() { return lock }
      guard clock.now < deadline, !isStopped() else { throw lockedError }
      usleep(20_000)
    }
  }

  /// Takes the library's lock, or returns `nil` if another process has it.
  package func attemptLock() throws(IngestError) -> FileLock? {
    do throws(FileError) {
      return try FileLock.attempt(LibraryLayout.lock, in: folder)
    } catch let error where error.code == .readOnly || error.code == .permission {
      throw IngestError(
        .file,
        "The library “\(layout.root.printable)” can't be written, so nothing was done. "
          + "\(error.message) Mount it for writing, or run as the user whom it belongs to.",
        path: layout.root, cause: error)
    } catch {
      throw IngestError(error)
    }
  }

  /// That another process keeps the lock.
  package var lockedError: IngestError {
    let holder = FileLock.holder(LibraryLayout.lock, in: folder).map { " (process \($0))" } ?? ""
    return IngestError(
      .locked,
      "Another pipeline\(holder) works on “\(layout.root.printable)”; wait for it, "
        + "or say how long to wait with --wait.", path: layout.root)
  }
}
