import Files
import Glibc
import Manifest
import ObjectStorage
import Originals
import PipelineModel
import Synchronization

/// The bucket of a library, opened when the first original is needed.
final class BucketAccess: Sendable {
  private let opened = Mutex<BucketStore?>(nil)

  func open(_ bucket: BucketLocation, for library: LibraryFolder) -> BucketStore {
    opened.withLock { opened in
      let store = opened ?? library.openBucket(bucket)
      opened = store
      return store
    }
  }
}

extension OwnedBucket {
  /// A place of a library, reached as the environment says.
  ///
  /// - Parameters:
  ///   - isStopped: called several times a second; ends a transfer when it returns true, as a signal does that asks this
  ///     process to end.
  convenience init(
    _ location: BucketLocation, for contents: String, identity: String, mayClaim: Bool = false,
    isStopped: @escaping @Sendable () -> Bool
  ) {
    self.init(
      location, for: contents, identity: identity, mayClaim: mayClaim,
      environment: CurrentProcess.environment(S3Client.variables)
    ) { isStopped() || CurrentProcess.isAskedToEnd.load(ordering: .relaxed) }
  }
}

extension LibraryFolder {
  /// - Parameter mayClaim: whether the library has no original yet.
  func openBucket(
    _ location: BucketLocation, mayClaim: Bool = false,
    isStopped: @escaping @Sendable () -> Bool = { false }
  ) -> BucketStore {
    let bucket = OwnedBucket(
      location, for: "originals", identity: marker.library, mayClaim: mayClaim, isStopped: isStopped
    )
    return BucketStore(bucket, library: folder, cacheBudget: layout.originalsCache)
  }

  /// The library as it is now that it is locked: another process may have moved its originals since
  /// `library.json` was read.
  package func readAgain() throws -> LibraryFolder {
    let now = try LibraryFolder.open(layout)
    guard now.marker.library == marker.library,
      try now.folder.status().isSameNode(as: folder.status())
    else {
      throw IngestError(
        .notALibrary, "“\(layout.root.printable)” was replaced meanwhile; nothing was done.",
        path: layout.root)
    }
    return now
  }

  /// Where a library's originals are: what the library says, reached as the configuration says.
  ///
  /// - Throws: `IngestError` of code `notALibrary` if the two differ.
  static func bucket(
    of layout: LibraryLayout, _ marker: LibraryMarker
  ) throws -> BucketLocation? {
    let recorded: BucketLocation?
    do throws(LocationFault) {
      recorded = try marker.bucket
    } catch {
      throw IngestError(
        .notALibrary,
        "“\(layout.root.appending(LibraryLayout.marker).printable)” can't be read: \"originals\" "
          + "\(error.reason).", path: layout.root)
    }
    guard let configured = layout.bucket, configured.name != recorded?.name else {
      return layout.bucket ?? recorded
    }
    guard recorded != nil || !isNew(layout) else { return nil }
    let place = recorded.map { "in “\($0.name)”" } ?? "in its own folder"
    throw IngestError(
      .notALibrary,
      "The originals of “\(layout.root.printable)” are \(place), and the configuration has them in "
        + "“\(configured.name)”. Nothing was done. `pipeline move-originals` takes them there; "
        + "otherwise correct \"originals\".", path: layout.root)
  }

  /// Whether nothing was imported yet.
  private static func isNew(_ layout: LibraryLayout) -> Bool {
    // What can't be read is not new.
    (try? Manifest(folder: layout.manifest).lastSequence) == 0
  }

  /// Makes a new library one with originals in a bucket, if the configuration says so, and notes
  /// how the bucket is reached.
  ///
  /// - Parameter lock: held for the library.
  /// - Returns: the library as it is now.
  func withConfiguredBucket(_ lock: FileLock) throws -> LibraryFolder {
    guard let configured = layout.bucket, marker.originals != configured.description else {
      return self
    }
    let marker = LibraryMarker(library: marker.library, bucket: configured)
    try Self.write(marker, to: folder)
    return LibraryFolder(layout: layout, marker: marker, folder: folder, bucket: configured)
  }

  /// Writes `library.json`.
  static func write(_ marker: LibraryMarker, to folder: Descriptor) throws(FileError) {
    guard let text = try? JSONText.encodePretty(marker) else {
      throw FileError(.other, "library.json can't be written as JSON.", path: folder.path)
    }
    try folder.writeDurably(Array((text + "\n").utf8), as: LibraryLayout.marker)
  }
}
