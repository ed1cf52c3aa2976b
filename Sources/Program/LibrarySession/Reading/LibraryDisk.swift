import Files
import Ingest

/// What the disk says of a library.
struct LibraryDisk: Sendable {
  /// Bytes on the file system of the library.
  let free: Int
  /// The process that holds the library, if any.
  let holder: Int?

  init(of library: ReadableLibrary) throws(FileError) {
    let folder = library.library.folder
    free = try folder.fileSystem().freeBytes
    let isHeld = try FileLock.isHeld(LibraryLayout.lock, in: folder)
    holder = isHeld ? FileLock.holder(LibraryLayout.lock, in: folder) : nil
  }
}
