package import Catalog
package import Files
import ObjectStorage
import Originals
package import PipelineModel
package import Records
package import Renditions
import Synchronization

/// The buckets of renditions that a library uses, opened when they are first needed.
final class RenditionAccess: Sendable {
  private let opened = Mutex<[BucketLocation: RenditionBucket]>([:])

  func open(_ bucket: BucketLocation, for library: LibraryFolder) -> RenditionBucket {
    opened.withLock { opened in
      let store = opened[bucket] ?? library.openRenditionBucket(bucket, mayClaim: false)
      opened[bucket] = store
      return store
    }
  }
}

extension LibraryFolder {
  /// Where the bytes of renditions are that the database does not keep, for reading them.
  ///
  /// - Parameter catalog: knows the buckets that have some.
  package func renditions(_ catalog: CatalogReader) throws(CatalogError) -> RenditionPlaces {
    let noted = NotedPlaces(try catalog.setting(NotedPlaces.setting))
    return RenditionPlaces(
      folder: RenditionFolder(in: folder),
      bucket: layout.renditionBucket.map { renditionAccess.open($0, for: self) },
      former: noted.buckets.map { renditionAccess.open($0, for: self) })
  }

  /// The same, for a process that stores some.
  ///
  /// - Parameters:
  ///   - folder: for those that are files.
  ///   - noted: the buckets that have some.
  ///   - mayClaim: whether the library may take the place of new ones for its own, if nobody has it.
  func openRenditions(
    in folder: any RenditionStore, noted: NotedPlaces = NotedPlaces(nil), mayClaim: Bool,
    isStopped: @escaping @Sendable () -> Bool
  ) -> RenditionPlaces {
    RenditionPlaces(
      folder: folder,
      bucket: layout.renditionBucket.map {
        openRenditionBucket($0, mayClaim: mayClaim, isStopped: isStopped)
      },
      former: noted.buckets.map {
        openRenditionBucket($0, mayClaim: false, isStopped: isStopped)
      })
  }

  fileprivate func openRenditionBucket(
    _ location: BucketLocation, mayClaim: Bool,
    isStopped: @escaping @Sendable () -> Bool = { false }
  ) -> RenditionBucket {
    let bucket = OwnedBucket(
      location, for: "renditions", identity: marker.library, mayClaim: mayClaim,
      isStopped: isStopped)
    return RenditionBucket(bucket, library: folder, cacheBudget: layout.originalsCache)
  }
}

extension LibraryFolder {
  /// Opens the local copy of a rendition that is in a bucket, in a process that can't reach that.
  ///
  /// - Returns: `nil` if it has to be fetched to the cache first.
  package func openLocalCopy(_ digest: Digest) throws(FileError) -> Descriptor? {
    try OriginalCache.ifPresent(in: folder)?.open(digest, isTrusted: true)
  }
}

extension RenditionRecord {
  /// Whether its bytes are in a bucket.
  package var isInBucket: Bool { path?.hasPrefix(RenditionBucket.scheme) ?? false }
}

extension LibraryLayout {
  /// Where people find a rendition that the database does not keep.
  package func place(ofRendition path: String) -> BytePath {
    path.hasPrefix(RenditionBucket.scheme) ? BytePath(path) : root.appending(path)
  }
}
