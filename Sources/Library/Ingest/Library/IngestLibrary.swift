package import Catalog
package import Files
package import Manifest
package import Originals
package import PipelineModel
import Records
package import Renditions

/// A locked library, open for importing: everything that an import writes to.
package final class IngestLibrary {
  package let layout: LibraryLayout
  package let marker: LibraryMarker
  package let folder: Descriptor
  package let incoming: Descriptor
  private let catalogFolder: Descriptor
  package let originals: any OriginalStore
  package let renditions: any RenditionStore
  package let manifest: Manifest
  package let catalog: Catalog
  package let reader: CatalogReader
  package let ids: AssetIDGenerator
  /// Bytes of free space that copies must leave.
  package let reserve: Int
  /// The current run, part of every fact and asset.
  package var run: AssetID?
  /// Where disks should be mounted, and are.
  let mounts: MountTable
  /// Whether to interrupt long work; called every MiB or two read.
  let isStopped: @Sendable () -> Bool
  /// The size of the last file without room.
  private var wantedRoom = 0
  private let lock: FileLock
  /// The lock on the catalog's folder, if outside the library.
  private var catalogLock: FileLock?
  /// Originals that this process has read completely and found whole.
  var verified: Set<Digest> = []
  /// Whether this process returned files: a scan that began earlier may not know.
  var hasReturned = false
  /// Which paths are too long to be recorded; `nil` if none is.
  let pathLimit: PathLimit?
  /// Whether an older version may have left sightings that assets imply.
  var mayHaveImpliedSightings = true
  /// What is left to do for the database of renditions.
  var renditionUpkeep = RenditionUpkeep()
  /// The position the catalog must not pass, because an import after it could not be completed.
  private var heldPosition: Int64?
  /// Whether a change of the catalog failed whose facts are in the manifest.
  private var lacksFacts = false

  /// Opens the parts of a library that this process has locked, and replays what the catalog lacks.
  ///
  /// - Parameters:
  ///   - lock: kept while this object lives.
  ///   - report: receives what recovery found.
  /// - Throws: `IngestError`; one that `isStopped` if recovery was interrupted, which the next
  ///   opening resumes.
  package init(
    _ found: LibraryFolder, lock: FileLock, reserve: Int, mounts: MountTable = MountTable(),
    report: any IngestReport, isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws {
    layout = found.layout
    pathLimit = found.layout.database.map { _ in
      PathLimit { [weak report] in report?.warning($0) }
    }
    folder = found.folder
    self.lock = lock
    self.reserve = reserve
    self.mounts = mounts
    self.isStopped = isStopped
    let found = try found.readAgain().withConfiguredBucket(lock)
    marker = found.marker
    self.found = found
    try found.prepareFolders()
    catalogLock = try CatalogFolder(of: found).claim()
    let layout = layout
    incoming = try found.openPart(found.layout.incoming)
    catalogFolder = try Descriptor.openFolder(layout.catalogFolder)
    renditions = found.renditions
    manifest = try found.openManifest()
    if found.bucket == nil { try Self.checkDevices(found) }
    catalog = try Self.openCatalog(found, manifest: manifest)
    reader = try CatalogReader.open(at: layout.catalogPlace, immutable: false)
    let newest = try catalog.newestAssetID()
    originals = try found.openOriginals(mayClaim: newest == nil, isStopped: isStopped)
    ids = AssetIDGenerator(after: newest) { UInt64(Timestamp.now.microseconds / 1000) }
    Self.compareClock(with: newest, report)
    let mark = HistoryMark(catalog: catalog, manifest: manifest)
    try mark.check()
    try DeletionList(library: self, report: report).complete()
    try Recovery(library: self, report: report).recover()
    try mark.note()
  }

  /// Warns of a clock that was ahead when the newest key was made, or is behind now: new keys
  /// continue from the newest, but times in records would mislead.
  private static func compareClock(with newest: AssetID?, _ report: any IngestReport) {
    guard let newest else { return }
    let ahead = Int64(newest.milliseconds) - Timestamp.now.microseconds / 1000
    guard ahead > 60_000 else { return }
    report.warning(
      "The newest asset's time is \(ahead / 1000) s ahead of the clock: the clock was wrong then, "
        + "or is wrong now. New keys sort after it all the same.")
  }

  /// Reports to other processes that this one holds the lock.
  package var lockedError: IngestError {
    found.lockedError
  }

  /// The library as it is found without its lock.
  let found: LibraryFolder

  /// The folders with the library's own files.
  var folders: [Descriptor] { [folder, catalogFolder] }

  /// The fence that keeps sources away from this library and, on request, from all others.
  func exclusion(keepsOffOthers: Bool = true) throws(FileError) -> LibraryExclusion {
    var parts = folders
    for path in [layout.originals, layout.incoming, layout.manifest, layout.renditions] {
      parts.append(try Descriptor.openFolder(path.lastComponent, in: folder, followsLinks: false))
    }
    return try LibraryExclusion(parts, keepsOffOthers: keepsOffOthers)
  }

  /// Refuses a path inside a library, after resolving links.
  func check(_ path: BytePath, isOutsideFor what: String, keepsOffOthers: Bool = true) throws {
    let found = try exclusion(keepsOffOthers: keepsOffOthers).folder(
      around: FileSystem.realPath(of: path))
    guard let found else { return }
    throw IngestError(
      .source,
      "\(what) “\(path.printable)” is a library, or inside one: “\(found.printable)”. Its files are "
        + "left alone.", path: path)
  }

  /// Whether the manifest has facts that the catalog should have by now but lacks: something failed
  /// in between, and only recovery can fix that.
  package func isBehind() throws -> Bool {
    let position = try catalog.manifestPosition
    return lacksFacts || position < committed(manifest.lastSequence)
  }

  /// Hashes a file from its current position; throws an error of code `stopped` if interrupted.
  func digest(of file: Descriptor) throws(FileError) -> Digest {
    try file.hash(isStopped: isStopped).digest
  }

  /// Reads a whole original; throws an error of code `stopped` if interrupted.
  func condition(of digest: Digest) throws(FileError) -> OriginalCondition {
    try originals.verify(digest, isStopped: isStopped)
  }

  /// Keeps the catalog's position at or before a fact, so that the next start replays what follows.
  func hold(position: Int64) {
    heldPosition = min(position, heldPosition ?? position)
  }

  /// Whether an import or return could not be completed yet.
  var hasInterruptedWork: Bool { heldPosition != nil }

  /// The position that the catalog may record after a commit.
  func committed(_ position: Int64) -> Int64 { min(position, heldPosition ?? position) }

  /// What the catalog stores of the manifest's last fact.
  var mark: String? { manifest.lastMark?.description }

  /// Removes some rows that an older version kept for moved files, in one short transaction.
  ///
  /// - Returns: whether more rows are left to examine.
  func removeImpliedSightings() throws -> Bool {
    guard mayHaveImpliedSightings else { return false }
    mayHaveImpliedSightings = try catalog.removeImpliedSightings(among: 4096)
    return mayHaveImpliedSightings
  }

  /// Records facts in the manifest, and then their changes in the catalog.
  ///
  /// - Parameters:
  ///   - asTransaction: whether a kill may leave none or all of them, but not some.
  ///   - changes: receives the sequence number of the first fact.
  /// - Returns: the number of jobs that were made ready again.
  @discardableResult
  func record(
    _ facts: [ManifestFact], at time: Timestamp, asTransaction: Bool = false,
    changes: (Int64) -> [CatalogChange]
  ) throws -> Int {
    guard !facts.isEmpty else { return 0 }
    let position = try manifest.append(facts, at: time, asTransaction: asTransaction)
    let lackedFacts = lacksFacts
    // While an import is held, the catalog's position does not tell.
    lacksFacts = true
    let count = try catalog.apply(
      changes(position - Int64(facts.count) + 1), manifestPosition: committed(position),
      mark: mark)
    lacksFacts = lackedFacts
    return count
  }

  /// Closes the catalog, which empties its write-ahead log into it.
  ///
  /// A closed library can be copied file by file, and read from read-only media.
  package func close() throws {
    try HistoryMark(catalog: catalog, manifest: manifest).note()
    try reader.close()
    try catalog.close()
    catalogLock = nil
  }

  /// Creates a catalog under another name first: a reader concurrent with a first run finds none,
  /// or a complete one.
  private static func make(_ file: BytePath, for found: LibraryFolder) throws -> Catalog {
    let fresh = BytePath("catalog-new.sqlite")
    let folder = try Descriptor.openFolder(file.parent)
    let files = CatalogFiles(folder: folder, name: fresh)
    try files.makeEmpty()
    let catalog = try Catalog.create(
      at: file.parent.appending(fresh), libraryID: found.marker.library)
    try catalog.close()
    try files.requireWhole()
    // Another catalog's log left here would be taken for this one's.
    _ = try CatalogFiles(folder: folder, name: file.lastComponent).setAside()
    try folder.rename(fresh, to: folder, as: file.lastComponent)
    try folder.sync()
    return try Catalog.open(at: file, libraryID: found.marker.library)
  }

  /// Originals are renamed from `incoming/`, so both must be on one file system.
  private static func checkDevices(_ library: LibraryFolder) throws {
    let layout = library.layout
    let device = try library.openPart(layout.incoming).status().device
    guard try library.openPart(layout.originals).status().device != device else { return }
    throw IngestError(
      .notALibrary,
      "“\(layout.originals.printable)” is on another file system than "
        + "“\(layout.incoming.printable)”: put the whole library on one.",
      path: layout.originals)
  }

  /// Creates the catalog of a library whose manifest is still empty; refuses any other library
  /// without its catalog.
  private static func openCatalog(_ found: LibraryFolder, manifest: Manifest) throws -> Catalog {
    let place = found.layout.catalogPlace
    do throws(CatalogError) {
      return try Catalog.open(at: place, libraryID: found.marker.library)
    } catch {
      guard error.code == .missing else { throw error }
      try found.requireMoved()
      guard manifest.lastSequence == 0 else { throw error }
      switch place {
      case .file(let file): return try make(file, for: found)
      case .database: return try Catalog.create(at: place, libraryID: found.marker.library)
      }
    }
  }

  /// Whether the store of originals answers.
  func canUseStore() throws(FileError) -> Bool {
    do throws(FileError) {
      try originals.check()
      return true
    } catch {
      guard error.code == .unavailable else { throw error }
      return false
    }
  }

  // MARK: Room

  /// Whether imports may continue after an error of code `noSpace`: the reserve is free wherever
  /// the library's files are, and there is room for the file that did not fit.
  package func hasRoom() throws -> Bool {
    try shortage(below: reserve + min(wantedRoom, .max - reserve)) == nil
  }

  /// Whether the reserve is free wherever the library's files are, besides some bytes.
  func hasReserve(besides bytes: Int) throws -> Bool {
    try shortage(below: reserve + min(bytes, .max - reserve)) == nil
  }

  /// Throws unless the reserve is free wherever the library's files are.
  ///
  /// Below the reserve nothing is imported, even by rename: journal and catalog grow with each
  /// file.
  ///
  /// - Throws: `IngestError` of code `noSpace`.
  func requireRoom() throws {
    if try shortage(below: reserve) != nil { originals.makeRoom() }
    guard let (folder, free) = try shortage(below: reserve) else {
      wantedRoom = 0
      return
    }
    throw IngestError(
      .noSpace,
      "Only \(ByteSize(bytes: free)) are free on the file system of “\(folder.printable)”, and "
        + "\(ByteSize(bytes: reserve)) are kept in reserve. \(Self.advice)", path: folder)
  }

  /// The error for a file that would cut into the reserve.
  func noRoom(for path: BytePath, _ candidate: Candidate) throws -> IngestError {
    wantedRoom = candidate.identity.size
    let free = try folder.fileSystem().freeBytes
    return IngestError(
      .noSpace,
      "There is no room for “\(path.printable)” (\(ByteSize(bytes: wantedRoom))): "
        + "\(ByteSize(bytes: free)) are free on the file system of “\(layout.root.printable)”, of "
        + "which \(ByteSize(bytes: reserve)) are kept in reserve. \(Self.advice)", path: layout.root
    )
  }

  private static let advice =
    "Nothing more is imported, and the files stay in their sources: make room, or set a smaller "
    + "\"reserve\"."

  /// The first folder whose file system has less free space than this, and its free space.
  private func shortage(below least: Int) throws -> (BytePath, Int)? {
    for folder in folders {
      let free = try folder.fileSystem().freeBytes
      if free < least { return (folder.path, free) }
    }
    return nil
  }
}
