package import Catalog
package import Files
package import Originals
package import PipelineModel

/// A library as imports use it: its store, its catalog, and who records what was imported.
///
/// `IngestLibrary` is one that this process has locked, and whose manifest it writes; `JoinedLibrary` one whose manifest
/// another machine writes.
package class ImportingLibrary {
  package let layout: LibraryLayout
  /// Contains `work/`.
  package let folder: Descriptor
  package let incoming: Descriptor
  package let originals: any OriginalStore
  let records: any ImportRecords
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
  /// Originals that this process has read completely and found whole.
  var verified: Set<Digest> = []
  /// Whether this process returned files: a scan that began earlier may not know.
  var hasReturned = false
  /// Which paths are too long to be recorded; `nil` if none is.
  let pathLimit: PathLimit?

  init(
    layout: LibraryLayout, folder: Descriptor, incoming: Descriptor, originals: any OriginalStore,
    records: any ImportRecords, catalog: Catalog, reader: CatalogReader, ids: AssetIDGenerator,
    reserve: Int, mounts: MountTable, report: any IngestReport,
    isStopped: @escaping @Sendable () -> Bool
  ) {
    self.layout = layout
    self.folder = folder
    self.incoming = incoming
    self.originals = originals
    self.records = records
    self.catalog = catalog
    self.reader = reader
    self.ids = ids
    self.reserve = reserve
    self.mounts = mounts
    self.isStopped = isStopped
    pathLimit = layout.database.map { _ in
      PathLimit { [weak report] in report?.warning($0) }
    }
  }

  /// Does a short step of what is to be done while nothing else is.
  ///
  /// - Returns: whether more is left.
  func keepUp(_ report: any IngestReport) throws -> Bool { false }

  /// Removes some rows that an older version kept for moved files, in one short transaction.
  ///
  /// - Returns: whether more rows are left to examine.
  func removeImpliedSightings() throws -> Bool { false }

  /// Completes or reverts returns that were interrupted, before files are taken from their sources, or returned there.
  /// Opening a locked library does that.
  ///
  /// - Parameter isReachable: whether a source, as it is recorded, is mounted, and held by this process if it is shared.
  /// - Throws: `IngestError` of code `store` if nobody can record them now.
  func endReturns(to isReachable: (BytePath) -> Bool, _ report: any IngestReport) throws {}

  /// Whether it is not known yet if a file was returned, by its path in a source as that is recorded.
  func isBeingReturned(_ path: BytePath, to source: BytePath) -> Bool { false }

  /// Removes files of renditions whose assets are gone.
  func removeDiscardedFiles() throws {}

  /// Whether the store of originals answers, and imports can be recorded.
  func canUseStore() throws -> Bool {
    do throws(FileError) {
      try originals.check()
    } catch {
      guard error.code == .unavailable else { throw error }
      return false
    }
    return try records.isAvailable()
  }

  /// Closes the catalog.
  package func close() throws {
    try reader.close()
    try catalog.close()
  }

  // MARK: Sources

  /// Puts a file in `incoming/` in the place of a damaged or missing original.
  func heal(_ file: IncomingOriginal) throws(FileError) {
    try originals.heal(file)
    DamageList.forget([file.digest], in: folder)
  }

  /// Opens the folder with the socket by which other processes ask this one.
  package func openControlFolder() throws(FileError) -> Descriptor { folder }

  /// The folders with the library's own files.
  var folders: [Descriptor] { [folder] }

  /// The folders that sources may not contain.
  func ownParts() throws(FileError) -> [Descriptor] { folders }

  /// The fence that keeps sources away from this library and, on request, from all others.
  func exclusion(keepsOffOthers: Bool = true) throws(FileError) -> LibraryExclusion {
    try LibraryExclusion(ownParts(), keepsOffOthers: keepsOffOthers)
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

  /// Refuses a source from which another machine takes files.
  ///
  /// - Throws: `IngestError` of code `held`.
  func requireHold(_ source: String?) throws {
    guard let source, let machine = try catalog.hold(source) else { return }
    throw IngestError(
      .held,
      "The machine “\(machine)” takes files from the shared source “\(source)”; this one does when that is gone."
    )
  }

  /// A folder of this machine as it is recorded.
  func recorded(_ path: BytePath) -> BytePath { layout.recorded(path) }

  /// Hashes a file from its current position; throws an error of code `stopped` if interrupted.
  func digest(of file: Descriptor) throws(FileError) -> Digest {
    try file.hash(isStopped: isStopped).digest
  }

  // MARK: Room

  /// Whether imports may continue after an error of code `noSpace`: the reserve is free wherever
  /// the library's files are, and there is room for the file that did not fit.
  package func hasRoom() throws -> Bool { try makeRoom(for: wantedRoom) == nil }

  /// Removes local copies of originals if they leave no room for some bytes besides the reserve, and that helps.
  ///
  /// - Returns: the first folder whose file system still has too little, and its free space.
  private func makeRoom(for bytes: Int) throws -> (BytePath, Int)? {
    let least = reserve + min(bytes, .max - reserve)
    guard let (_, free) = try shortage(below: least) else { return nil }
    originals.makeRoom(least - free)
    return try shortage(below: least)
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
    guard let (folder, free) = try makeRoom(for: 0) else {
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
