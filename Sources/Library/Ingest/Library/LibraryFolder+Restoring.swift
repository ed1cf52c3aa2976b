import Catalog
import Files
import Glibc
import Manifest
import ObjectStorage
import Originals
package import PipelineModel
import Records

/// A library that was made again from its bucket.
package struct RestoredLibrary: Sendable {
  /// Its identity, a UUID.
  package var library: String
  package var segments: Int
  /// The position of the last fact.
  package var facts: Int64
  /// Whether its catalog is in a database, and knows no more than the manifest.
  package var hasCatalog = false
  /// How many of the facts no copy in the bucket had.
  package var factsOfCatalog: Int64 = 0
  /// Which facts of the catalog the manifest lacks, and why.
  package var warning: String?
  /// When that was recorded.
  package var newest: Timestamp?
}

extension LibraryFolder {
  /// Makes the folder of a library whose machine is lost from what its bucket has, its identity and the copies of its
  /// manifest, and from what a catalog in a database has of the manifest since.
  ///
  /// - Parameters:
  ///   - layout: with a folder that is missing or empty, and the bucket.
  ///   - progress: called with the number of segments read, and their total.
  ///   - isStopped: called several times a second; nothing is left when it returns true.
  /// - Throws: `IngestError` of code `notALibrary` if the folder is something else, or the bucket has no library;
  ///   `FileError` of code `unavailable` if it can't be reached; `CatalogError` if the database can't be used.
  package static func restore(
    _ layout: LibraryLayout, from location: BucketLocation,
    progress: @escaping (Int, Int) -> Void = { _, _ in }, isStopped: @escaping @Sendable () -> Bool
  ) throws -> RestoredLibrary {
    let bucket = OwnedBucket(location, for: "originals", identity: "", isStopped: isStopped)
    guard let library = try bucket.owner() ?? newLibrary(in: layout.database, for: bucket) else {
      throw refusal(location, "has no library.json, so no library keeps its originals there")
    }
    let copies = try ManifestComparison.sizes(in: bucket).sorted { $0.key < $1.key }
    let tail = try layout.database.flatMap { try openTail(in: $0, of: library) }
    guard try !copies.isEmpty || tail?.isWhole == true else {
      throw refusal(location, "has no copy of a manifest: restore the library from a backup")
    }
    var result = RestoredLibrary(library: library, segments: copies.count, facts: 0)
    let marker = LibraryMarker(library: library, bucket: location)
    let isMade = try makeAsAsked(layout, as: marker) { folder in
      let manifest = try Descriptor.openFolder(
        layout.manifest.lastComponent, in: folder, followsLinks: false)
      for (index, (name, size)) in copies.enumerated() {
        progress(index, copies.count)
        try fetch(name, size, from: bucket, to: manifest)
      }
      try manifest.sync()
      do {
        try complete(manifest, with: tail, &result, isStopped)
      } catch let error as ManifestError where error.code == .damaged {
        throw refusal(
          location,
          "has copies of the manifest, below “\(ManifestCopies.folder)”, that are damaged or incomplete: put whole ones "
            + "there, such as earlier versions of these objects")
      }
      if isStopped() { throw FileError.stopped(layout.root) }
      result.hasCatalog = tail != nil && result.warning == nil
    }
    guard isMade else {
      let own = try open(layout.withoutBucket).marker.library
      throw IngestError(
        .notALibrary,
        own == library
          ? "“\(layout.root.printable)” is this library already; nothing was done."
          : "“\(layout.root.printable)” is the library \(own) already, and the bucket's is \(library); nothing was done. "
            + "Name a new folder.", path: layout.root)
    }
    return result
  }

  /// The library whose catalog a database has, if it has no asset yet: then it need not have claimed its place in the
  /// bucket.
  ///
  /// - Throws: `FileError` if something else is there.
  private static func newLibrary(
    in database: DatabaseLocation?, for bucket: OwnedBucket
  ) throws -> String? {
    guard let database else { return nil }
    let found: String
    do throws(CatalogError) {
      guard let library = try Catalog.libraryID(of: .database(database)),
        let tail = try openTail(in: database, of: library), try tail.isWhole, !tail.hasAssets
      else { return nil }
      found = library
    } catch {
      guard error.code == .missing else { throw error }
      return nil
    }
    guard try bucket.ownerOfUsed() == nil else { return nil }
    return found
  }

  private static func openTail(
    in database: DatabaseLocation, of library: String
  ) throws(CatalogError) -> ManifestTailReader? {
    do throws(CatalogError) {
      return try ManifestTailReader(database, libraryID: library)
    } catch {
      var error = error
      error.message +=
        " Nothing was done: the facts that the library recorded last may be there alone. If the database is lost for good, "
        + "make an empty one first."
      throw error
    }
  }

  /// Appends what a database has of a manifest since its last copy, and reads all of it, so that what is damaged or missing
  /// is found before anybody relies on it.
  private static func complete(
    _ folder: Descriptor, with tail: ManifestTailReader?, _ result: inout RestoredLibrary,
    _ isStopped: () -> Bool
  ) throws {
    let manifest = try Manifest(in: folder)
    let copied = manifest.lastSequence
    do {
      if let tail { try append(tail, to: manifest) }
    } catch let error as ManifestError where error.code == .damaged {
      result.warning =
        "What the catalog's database has of the manifest after fact \(manifest.lastSequence) was left out. \(error)"
    }
    if result.warning == nil, let tail, let lag = manifest.lag(behind: tail.position) {
      result.warning = "\(lag)."
    }
    var cursor = try manifest.entries(after: 0)
    while try cursor.next() != nil { if isStopped() { return } }
    result.facts = manifest.lastSequence
    result.factsOfCatalog = manifest.lastSequence - copied
    result.newest = manifest.lastMark?.time
  }

  /// Appends what a database has of a manifest since its last copy.
  ///
  /// - Throws: `ManifestError` of code `damaged` if that does not follow the copy.
  private static func append(_ tail: ManifestTailReader, to manifest: Manifest) throws {
    // A fact that both have tells whether they are of one history.
    var last = manifest.lastSequence - 1
    while let lines = try tail.next(after: last) {
      try manifest.append(lines)
      last = lines.last
    }
  }

  private static func fetch(
    _ name: String, _ size: Int, from bucket: OwnedBucket, to folder: Descriptor
  ) throws {
    let file = try Descriptor.open(
      BytePath(name), in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    try bucket.client().get("\(ManifestCopies.folder)\(name)", limit: size) {
      piece throws(FileError) in try file.write(piece)
    }
    try file.sync()
  }

  private static func refusal(_ location: BucketLocation, _ what: String) -> IngestError {
    IngestError(.notALibrary, "“\(location.name)” \(what). Nothing was done.")
  }
}
