import Catalog
package import Files
import Glibc
import Manifest
package import Originals
package import PipelineModel
import Records
import Renditions

/// The content of `library.json`.
package struct LibraryMarker: Codable, Hashable, Sendable {
  /// The newest version of the on-disk format that this program reads.
  package static let currentFormat = 2

  /// The library's identity, a UUID.
  package var library: String
  /// The version of the on-disk format: 1, or 2 with originals in a bucket, which version 1 would miss.
  package var format: Int
  /// Where originals are, as `BucketLocation` writes it; absent if they are in the library.
  package var originals: String?

  package init(library: String, bucket: BucketLocation?) {
    self.library = library
    format = bucket == nil ? 1 : 2
    originals = bucket?.description
  }

  /// Whether this program reads such a library.
  package var isKnown: Bool { format < 2 || format == Self.currentFormat && originals != nil }

  /// Where originals are if not in the library.
  ///
  /// - Throws: `LocationFault`.
  package var bucket: BucketLocation? {
    get throws(LocationFault) {
      guard let originals else { return nil }
      return try BucketLocation(originals)
    }
  }
}

/// A library that was found or made, and may not be locked yet.
package struct LibraryFolder: Sendable {
  package let layout: LibraryLayout
  package let marker: LibraryMarker
  package let folder: Descriptor
  /// Where originals are; `nil` for the library's own folder.
  package let bucket: BucketLocation?
  private let store = BucketAccess()
  let renditionAccess = RenditionAccess()

  init(
    layout: LibraryLayout, marker: LibraryMarker, folder: Descriptor, bucket: BucketLocation? = nil
  ) {
    self.layout = layout
    self.marker = marker
    self.folder = folder
    self.bucket = bucket
  }

  /// Opens an original for reading, below the library's folder and through no link; one in a bucket is
  /// fetched if it is not in the cache.
  package func openOriginal(_ digest: Digest) throws(FileError) -> Descriptor {
    if let bucket { return try store.open(bucket, for: self).open(digest) }
    let path = BytePath("originals").appending(OriginalLayout.path(of: digest))
    return try Descriptor.openRegular(path.lastComponent, in: folder.openParent(of: path))
  }

  /// Returns a local file with an original's bytes, for as long as it is kept.
  ///
  /// - Throws: as `OriginalStore.lease`.
  package func leaseOriginal(_ digest: Digest) throws(FileError) -> LocalOriginal {
    if let bucket { return try store.open(bucket, for: self).lease(digest) }
    return LocalOriginal(path: try openOriginal(digest).path)
  }

  /// Where originals are, if they have to be fetched: not in the library's own folder.
  package var remoteOriginals: (any OriginalStore)? {
    bucket.map { store.open($0, for: self) }
  }

  /// Where people find an original.
  package func pathOfOriginal(_ digest: Digest) -> BytePath {
    if let bucket { return store.open(bucket, for: self).path(of: digest) }
    return layout.originals.appending(OriginalLayout.path(of: digest))
  }

  /// Returns an original's size in bytes, without reading it; `nil` if it is missing.
  package func sizeOfOriginal(_ digest: Digest) throws(FileError) -> Int? {
    if let bucket { return try store.open(bucket, for: self).size(of: digest) }
    return try ifThere { () throws(FileError) in
      try openOriginal(digest).status().identity.size
    }
  }

  /// Opens an original for reading in a process that can't reach a bucket.
  ///
  /// - Returns: `nil` if it has to be fetched to the cache first.
  package func openLocalOriginal(_ digest: Digest) throws(FileError) -> Descriptor? {
    guard bucket != nil else { return try openOriginal(digest) }
    return try OriginalCache.ifPresent(in: folder)?.open(digest, isTrusted: true)
  }

  /// - Throws: `IngestError` of code `notALibrary` if the folder or its marker is missing,
  ///   `newerVersion` for a newer format.
  package static func open(_ layout: LibraryLayout) throws -> LibraryFolder {
    let found = try ifThere { () throws(FileError) in try Descriptor.openFolder(layout.root) }
    guard let folder = found else {
      throw IngestError(
        .notALibrary,
        "There is no library at “\(layout.root.printable)”. If it is on a disk, mount that."
          + (layout.machine == nil ? " `pipeline run` makes a new one." : ""), path: layout.root)
    }
    guard let bytes = try folder.readFileIfThere(LibraryLayout.marker, limit: 1 << 16) else {
      try requireOwnFolder(folder)
      throw IngestError(
        .notALibrary,
        "“\(layout.root.printable)” has no library.json, so it is not a library. If it is an empty "
          + "mount point, mount the disk; if it is a folder for a new library, remove it and "
          + "`pipeline run` makes it.", path: layout.root)
    }
    let marker: LibraryMarker
    do {
      marker = try JSONText.decode(LibraryMarker.self, from: bytes)
    } catch {
      throw IngestError(
        .notALibrary,
        "“\(layout.root.appending(LibraryLayout.marker).printable)” can't be read: \(error).",
        path: layout.root)
    }
    guard marker.isKnown else {
      throw IngestError(
        .newerVersion,
        "“\(layout.root.printable)” has format \(marker.format), made by a newer version of "
          + "pipeline; this one knows format \(LibraryMarker.currentFormat). Use the newer one.",
        path: layout.root)
    }
    let bucket = try bucket(of: layout, marker)
    return LibraryFolder(layout: layout, marker: marker, folder: folder, bucket: bucket)
  }

  /// Takes the library's lock, retrying for up to `wait`.
  ///
  /// - Throws: `IngestError` of code `locked` if another process holds it.
  package func lock(
    wait: TimeSpan = TimeSpan(milliseconds: 0), isStopped: () -> Bool = { false }
  ) throws -> FileLock {
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
  package func attemptLock() throws -> FileLock? {
    try Self.requireOwn(folder, "The library")
    do throws(FileError) {
      return try FileLock.attempt(LibraryLayout.lock, in: folder)
    } catch {
      guard [.readOnly, .permission].contains(error.code) else { throw error }
      throw IngestError(
        .file,
        "The library “\(layout.root.printable)” can't be written, so nothing was done. "
          + "\(error.message) Mount it for writing, or run as its owner.",
        path: layout.root)
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

  // MARK: Its parts

  /// Opens one of the library's folders, even if the library's path leads elsewhere by now.
  func openPart(_ path: BytePath) throws(FileError) -> Descriptor {
    try Descriptor.openFolder(path.lastComponent, in: folder, followsLinks: false)
  }

  /// Opens the store of originals.
  ///
  /// - Parameters:
  ///   - mayClaim: whether the library has no original yet, so that it may take an empty bucket.
  ///   - isStopped: called several times a second while bytes come from, or go to, a bucket.
  func openOriginals(
    mayClaim: Bool = false, isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws(FileError) -> any OriginalStore {
    if let bucket { return openBucket(bucket, mayClaim: mayClaim, isStopped: isStopped) }
    return try openOwnOriginals()
  }

  /// Opens the library's own folder of originals, wherever they are.
  func openOwnOriginals() throws(FileError) -> FolderStore {
    try FolderStore(
      in: folder, originals: layout.originals.lastComponent,
      damaged: layout.damaged.lastComponent)
  }

  func openManifest() throws -> Manifest {
    try Self.requireOwnFolder(folder)
    return try Manifest(in: openPart(layout.manifest))
  }

  /// Refuses the folder of a machine that works beside the one with the library's own.
  private static func requireOwnFolder(_ folder: Descriptor) throws {
    guard try folder.statusIfThere(of: Workplace.marker) != nil else { return }
    throw IngestError(
      .notALibrary,
      "“\(folder.path.printable)” is a folder of `pipeline work`, or of a machine that joins a library, not the library "
        + "itself. Do that on the machine with the library's own folder.", path: folder.path)
  }

  /// Creates missing folders of a locked library, and refuses anything in the place of one that is
  /// not the library's own.
  ///
  /// A backup need not have the folders that can be refilled. A link would redirect the program's
  /// own writes and removals out of the library.
  ///
  /// - Throws: `IngestError` of code `notALibrary`; nothing was created then.
  func prepareFolders() throws {
    let names = (LibraryLayout.folders + LibraryLayout.occasionalFolders).map { BytePath($0) }
    var missing: [BytePath] = []
    for name in names where try !hasFolder(name) { missing.append(name) }
    for name in LibraryLayout.lastingFolders.map({ BytePath($0) }) where missing.contains(name) {
      // A backup has none if a bucket has the originals.
      if try marker.bucket != nil, name == layout.originals.lastComponent { continue }
      try requireNew(without: name)
    }
    let refillable = missing.filter { !LibraryLayout.occasionalFolders.contains($0.description) }
    guard !refillable.isEmpty else { return }
    for name in refillable { try folder.makeFolder(name, mode: 0o700) }
    try folder.sync()
  }

  private func hasFolder(_ name: BytePath) throws -> Bool {
    let path = layout.root.appending(name)
    guard let status = try folder.statusIfThere(of: name) else { return false }
    guard status.kind == .folder else {
      let what = status.kind == .link ? "a symbolic link" : "not a folder"
      throw IngestError(
        .notALibrary,
        "“\(path.printable)” is \(what); nothing was done, since the program writes and removes "
          + "files there. Put the library's own folder in its place.", path: path)
    }
    try Self.requireOwn(try openPart(name), "The library's folder")
    return true
  }

  /// Refuses a folder that other users could put files into.
  static func requireOwn(_ folder: Descriptor, _ what: String) throws {
    do throws(FileError) {
      try folder.requireOwn(what)
    } catch {
      guard error.code == .untrusted else { throw error }
      throw IngestError(.notALibrary, error.message + " Nothing was done.", path: error.path)
    }
  }

  /// Refuses a used library that lacks a folder with irreplaceable content.
  private func requireNew(without name: BytePath) throws {
    let isNew =
      try LibraryLayout.lastingFolders.allSatisfy { try isEmpty(BytePath($0)) }
      && !hasCatalog
    guard !isNew else { return }
    let path = layout.root.appending(name)
    throw IngestError(
      .notALibrary,
      "“\(path.printable)” is missing, and its contents can't be made again; nothing was done. If "
        + "it is on a disk that is not mounted, mount it; otherwise put it back from a backup. If "
        + "it is lost, make an empty folder there: `pipeline verify` then reports what is gone.",
      path: path)
  }

  private func isEmpty(_ name: BytePath) throws(FileError) -> Bool {
    guard try folder.statusIfThere(of: name) != nil else { return true }
    return try Descriptor.openFolder(name, in: folder, followsLinks: false).entries().isEmpty
  }

  private var hasCatalog: Bool {
    get throws {
      guard layout.database != nil else {
        let path = layout.catalog
        return try Descriptor.openFolder(path.parent).statusIfThere(of: path.lastComponent) != nil
      }
      do throws(CatalogError) {
        // One of another library is refused when it is opened.
        return try Catalog.libraryID(of: layout.catalogPlace) == marker.library
      } catch {
        guard error.code == .missing else { throw error }
        return false
      }
    }
  }
}
