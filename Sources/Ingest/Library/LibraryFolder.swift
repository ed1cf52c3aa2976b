package import Files
import Glibc
package import PipelineModel

/// A library that was found or made, and may not be locked yet.
package struct LibraryFolder: Sendable {
  /// The names in the library.
  package let layout: LibraryLayout
  /// Its identity.
  package let marker: LibraryMarker
  /// The open folder.
  package let folder: Descriptor

  /// Opens a library.
  ///
  /// - Throws: `IngestError` of code `notALibrary` if the folder or its marker is missing,
  ///   `newerVersion` for a newer format.
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
        "“\(layout.root.printable)” has no library.json, so it is not a library. If it is an empty "
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

  /// Takes the library's lock, retrying for up to `wait`.
  ///
  /// - Throws: `IngestError` of code `locked` if another process holds it.
  package func lock(
    wait: TimeSpan = TimeSpan(milliseconds: 0), isStopped: () -> Bool = { false }
  ) throws(IngestError) -> FileLock {
    let clock = ContinuousClock()
    // `status` and `verify` hold the lock for an instant to test it.
    let deadline = clock.now + max(wait.duration, .milliseconds(60))
    while true {
      if let lock = try attemptLock() { return lock }
      guard clock.now < deadline, !isStopped() else { throw lockedError }
      usleep(20_000)
    }
  }

  /// Takes the library's lock, or returns `nil` if another process holds it.
  ///
  /// - Throws: `IngestError` of code `notALibrary` for a library that belongs to another user, or
  ///   that others may write.
  package func attemptLock() throws(IngestError) -> FileLock? {
    try Self.requireOwn(folder, "The library")
    do throws(FileError) {
      return try FileLock.attempt(LibraryLayout.lock, in: folder)
    } catch let error where error.code == .readOnly || error.code == .permission {
      throw IngestError(
        .file,
        "The library “\(layout.root.printable)” can't be written, so nothing was done. "
          + "\(error.message) Mount it for writing, or run as its owner.",
        path: layout.root, cause: error)
    } catch {
      throw IngestError(error)
    }
  }

  /// The error that another process holds the lock.
  package var lockedError: IngestError {
    let holder = FileLock.holder(LibraryLayout.lock, in: folder).map { " (process \($0))" } ?? ""
    return IngestError(
      .locked,
      "Another pipeline\(holder) works on “\(layout.root.printable)”; wait for it, "
        + "or set how long to wait with --wait.", path: layout.root)
  }
}
