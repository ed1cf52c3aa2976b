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
  ///
  /// - Throws: `IngestError` of code `notALibrary` for a library of somebody else, or one that
  ///   others may write.
  package func attemptLock() throws(IngestError) -> FileLock? {
    try Self.requireOwn(folder, "The library")
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
