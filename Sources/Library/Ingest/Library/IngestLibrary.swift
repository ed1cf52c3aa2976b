import Catalog
package import Files
package import Manifest
import ObjectStorage
import Originals
import PipelineModel
import Records
package import Renditions

/// A locked library, open for importing: everything that an import writes to.
package final class IngestLibrary: ImportingLibrary {
  package let marker: LibraryMarker
  private let catalogFolder: Descriptor
  package let renditions: RenditionPlaces
  package let manifest: Manifest
  private let journal: ManifestRecords
  private let lock: FileLock
  /// The lock on the catalog's folder, if outside the library.
  private var catalogLock: FileLock?
  /// Whether an older version may have left sightings that assets imply.
  var mayHaveImpliedSightings = true
  /// Copies of the manifest, if originals are in a bucket.
  private var copies: ManifestCopies?
  private weak var report: (any IngestReport)?
  /// What is left to do for the database of renditions.
  private var renditionUpkeep = RenditionUpkeep()

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
    self.lock = lock
    let found = try found.readAgain().withConfiguredBucket(lock)
    marker = found.marker
    self.found = found
    try found.prepareFolders()
    catalogLock = try CatalogFolder(of: found).claim()
    let layout = found.layout
    let incoming = try found.openPart(layout.incoming)
    catalogFolder = try Descriptor.openFolder(layout.catalogFolder)
    manifest = try found.openManifest()
    if found.bucket == nil { try Self.checkDevices(found) }
    let catalog = try Self.openCatalog(found, manifest: manifest)
    let reader = try CatalogReader.open(at: layout.catalogPlace, immutable: false)
    journal = ManifestRecords(manifest: manifest, catalog: catalog)
    let newest = try catalog.newestAssetID()
    let places = try Self.notePlaces(of: found, catalog)
    // A place that has some is not nobody's: it is another server's, or was emptied. In that of originals theirs is the
    // same mark.
    let mayClaim =
      layout.renditionBucket?.name == found.bucket?.name
      ? newest == nil : try !reader.hasRenditionFiles(below: places.current)
    renditions = found.openRenditions(
      in: RenditionFolder(in: found.folder), noted: places, mayClaim: mayClaim,
      isStopped: isStopped)
    super.init(
      layout: layout, folder: found.folder, incoming: incoming,
      originals: try found.openOriginals(mayClaim: newest == nil, isStopped: isStopped),
      records: journal, catalog: catalog, reader: reader,
      ids: AssetIDGenerator(after: newest) { UInt64(Timestamp.now.microseconds / 1000) },
      reserve: reserve, mounts: mounts, report: report, isStopped: isStopped)
    Self.compareClock(with: newest, report)
    let mark = HistoryMark(catalog: catalog, manifest: manifest)
    try mark.check()
    try compareManifest()
    try followManifest()
    try DeletionList(library: self, report: report).complete()
    try Recovery(library: self, report: report).recover()
    try mark.note()
    try notePlaceOfOriginals()
    try forgetFormerCopies()
    copies = try manifestCopies(isNew: newest == nil)
    self.report = report
    if mayClaim { claimPlaceOfRenditions() }
  }

  /// Names in the catalog where its renditions are.
  private static func notePlaces(
    of found: LibraryFolder, _ catalog: Catalog
  ) throws -> NotedPlaces {
    let noted = NotedPlaces(try catalog.setting(NotedPlaces.setting))
    var places = noted
    places.add(found.layout.renditionBucket)
    if places != noted { try catalog.announce(NotedPlaces.setting, places.text) }
    return places
  }

  /// Takes the place of renditions, because machines that only work for the library can't tell whether it may.
  private func claimPlaceOfRenditions() {
    guard layout.database != nil else { return }
    do throws(FileError) {
      try renditions.bucket?.claim()
    } catch {
      // Whoever stores the first one says so.
      return
    }
  }

  /// Forgets a former place of renditions that has none.
  func forget(_ bucket: RenditionBucket) throws {
    var places = NotedPlaces(try catalog.setting(NotedPlaces.setting))
    places.forget(bucket.place)
    try catalog.announce(NotedPlaces.setting, places.text)
  }

  /// The place of originals in a bucket, and what the catalog notes of the manifest's copies there.
  private func copiedManifest() throws -> (location: BucketLocation, noted: CopiedManifest?)? {
    guard let store = originals as? BucketStore else { return nil }
    // The place is a part, because another one has none of them.
    let place = store.bucket.location.name
    let noted = try catalog.setting(CopiedManifest.setting).flatMap {
      CopiedManifest($0, in: place)
    }
    return (store.bucket.location, noted)
  }

  /// Forgets what was copied to a bucket that the originals have left: the next one may have the same name on another
  /// server.
  private func forgetFormerCopies() throws {
    guard found.bucket == nil else { return }
    if layout.database != nil, try catalog.manifestTail != nil {
      try catalog.forgetManifestTail(upTo: nil)
    }
    if try catalog.setting(CopiedManifest.setting) != nil {
      try catalog.set(CopiedManifest.setting, to: nil)
    }
  }

  /// Has the catalog keep the lines of the manifest that its copies may lack, if it outlives this machine.
  ///
  /// - Throws: `IngestError` of code `catalog` if it has kept some that the manifest lacks.
  private func followManifest() throws {
    guard layout.database != nil, let (_, noted) = try copiedManifest() else { return }
    let kept = try catalog.manifestTail
    if let lag = kept.flatMap({ manifest.lag(behind: $0.upperBound) }) {
      throw IngestError(
        .catalog,
        "\(lag): an older backup of the library was put back, or another machine has taken this one's place; then do "
          + "nothing here. `pipeline restore-library` makes the library in a new folder, with the facts that are missing "
          + "here; `pipeline rebuild-catalog` gives those up, with the names of what was imported by them.",
        path: layout.catalog)
    }
    let tail = ManifestTailStart(
      copied: noted?.sequence ?? 0, kept: kept, newest: manifest.lastSequence)
    if tail.isAnew { try catalog.forgetManifestTail(upTo: nil) }
    try catalog.follow(manifest, after: tail.after)
  }

  /// Compares the manifest with its copies in the bucket: at once if it is not the file that was copied last, as after a
  /// restore, or if recovery would add to it; and otherwise before the first import.
  ///
  /// - Throws: `IngestError` of code `catalog` if they have facts that the manifest lacks.
  private func compareManifest() throws {
    guard let (_, noted) = try copiedManifest(), let comparison = try manifestComparison() else {
      return
    }
    try manifest.sync()
    let isOwn = try noted != nil && noted?.inode == manifest.inode()
    let isBehind = try catalog.manifestPosition < manifest.lastSequence
    if !isOwn || isBehind, try comparison.compareIfPossible(isStopped: isStopped) { return }
    journal.beforeImports = { [weak self] in
      guard let self, let comparison = try manifestComparison() else { return true }
      return try comparison.compareIfPossible(isStopped: isStopped)
    }
  }

  /// Refuses a manifest that lacks facts of its copies, before bytes are deleted that these may need.
  ///
  /// - Throws: `IngestError` of code `catalog`; `FileError` if the store can't be asked.
  func requireNewestManifest() throws { try manifestComparison()?.compare() }

  /// A comparison with the copies in the bucket that takes ten seconds at most; `nil` without a bucket.
  private func manifestComparison() throws -> ManifestComparison? {
    guard let (location, _) = try copiedManifest() else { return nil }
    return ManifestComparison(
      of: manifest, with: location, identity: marker.library, within: .seconds(10),
      isStopped: isStopped)
  }

  /// The copies of the manifest beside originals in a bucket.
  private func manifestCopies(isNew: Bool) throws -> ManifestCopies? {
    guard let (location, noted) = try copiedManifest() else { return nil }
    let isSame = try noted?.inode == manifest.inode()
    return ManifestCopies(
      of: manifest, to: location, identity: marker.library, isNew: isNew,
      copied: isSame ? noted?.sequence ?? 0 : 0, isStopped: isStopped
    ) { [catalog, manifest, keepsTail = layout.database != nil] sequence, seen in
      let copied = CopiedManifest(sequence: sequence, inode: try manifest.inode())
      try catalog.set(CopiedManifest.setting, to: copied.text(in: location.name))
      if let seen, keepsTail { try catalog.forgetManifestTail(upTo: seen) }
    }
  }

  /// Names the bucket of originals in a catalog that other machines reach.
  private func notePlaceOfOriginals() throws {
    guard layout.database != nil else { return }
    let (key, name) = (Workplace.originalsPlace, found.bucket?.name)
    if try catalog.setting(key) != name { try catalog.set(key, to: name) }
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

  override var folders: [Descriptor] { [folder, catalogFolder] }

  override func ownParts() throws(FileError) -> [Descriptor] {
    var parts = folders
    for path in [layout.originals, layout.incoming, layout.manifest, layout.renditions] {
      parts.append(try Descriptor.openFolder(path.lastComponent, in: folder, followsLinks: false))
    }
    return parts
  }

  /// Whether the manifest has facts that the catalog should have by now but lacks: something failed
  /// in between, and only recovery can fix that.
  package func isBehind() throws -> Bool { try journal.isBehind() }

  /// Reads a whole original; throws an error of code `stopped` if interrupted.
  func condition(of digest: Digest) throws(FileError) -> OriginalCondition {
    try originals.verify(digest, isStopped: isStopped)
  }

  /// Keeps the catalog's position at or before a fact, so that the next start replays what follows.
  func hold(position: Int64) { journal.hold(position: position) }

  /// Whether an import or return could not be completed yet.
  var hasInterruptedWork: Bool { journal.hasInterruptedWork }

  /// The position that the catalog may record after a commit.
  func committed(_ position: Int64) -> Int64 { journal.committed(position) }

  /// What the catalog stores of the manifest's last fact.
  var mark: String? { journal.mark }

  override func removeDiscardedFiles() throws { try DiscardedFiles(library: self).remove() }

  override func keepUp(_ report: any IngestReport) throws -> Bool {
    if let warning = copies?.takeWarning() { report.warning(warning) }
    return try renditionUpkeep.step(self, report)
  }

  override func removeImpliedSightings() throws -> Bool {
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
    try journal.record(facts, at: time, asTransaction: asTransaction, changes: changes)
  }

  /// Closes the catalog, which empties its write-ahead log into it.
  ///
  /// A closed library can be copied file by file, and read from read-only media.
  override package func close() throws {
    do {
      try HistoryMark(catalog: catalog, manifest: manifest).note()
    } catch {
      // What can't be noted does not keep others from the catalog.
      try? super.close()
      throw error
    }
    // Who changes a tag, or asks the program to end, does not wait for a store that is away.
    copies?.finish(within: isStopped() ? .seconds(3) : .seconds(run == nil ? 2 : 30))
    if let warning = copies?.takeWarning() { report?.warning(warning) }
    copies = nil
    try super.close()
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
      guard manifest.lastSequence == 0 else {
        guard case .database = place else { throw error }
        throw CatalogError(
          .missing,
          "The database “\(place.name.printable)” has no catalog, and this library had one: correct \"catalog\", or make "
            + "the catalog again from the manifest with `pipeline rebuild-catalog`.",
          path: place.name)
      }
      switch place {
      case .file(let file): return try make(file, for: found)
      case .database: return try Catalog.create(at: place, libraryID: found.marker.library)
      }
    }
  }
}

/// What the catalog notes of the manifest's copies in a bucket.
struct CopiedManifest {
  static let setting = "manifest.copied"

  /// The last fact that was copied.
  let sequence: Int64
  /// The inode of its segment; `nil` if there was none, or an older version has noted it.
  let inode: UInt64?

  init(sequence: Int64, inode: UInt64?) {
    self.sequence = sequence
    self.inode = inode
  }

  /// Reads what was noted of a place; `nil` if that is about another one.
  init?(_ text: String, in place: String) {
    guard text.hasPrefix("\(place) ") else { return nil }
    let numbers = text.dropFirst(place.utf8.count + 1).split(separator: " ")
    guard let sequence = numbers.first.flatMap({ Int64($0) }) else { return nil }
    self.sequence = sequence
    inode = numbers.dropFirst().first.flatMap { UInt64($0) }
  }

  func text(in place: String) -> String {
    (["\(place)", "\(sequence)"] + (inode.map { ["\($0)"] } ?? [])).joined(separator: " ")
  }
}
