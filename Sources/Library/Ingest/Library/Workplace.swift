package import Catalog
package import Files
import Glibc
package import Originals
import PipelineModel
package import Renditions

/// Where a process works on a library's jobs beside the one that has its lock: in the library's own folder, or in one
/// of this machine that has nothing but what can be made again.
package final class Workplace {
  /// The content of `work.json`, which tells such a folder from a library.
  private struct Marker: Codable {
    /// The identity of the library that is worked for.
    var library: String
  }

  static let marker: BytePath = "work.json"
  /// In `work/`, a folder for each process that works here at the same time.
  static let places: BytePath = "beside"
  private static let most = 1000

  /// Whether it is the library's own folder, with its files.
  package let isOwn: Bool
  /// Contains `work/` for this process alone.
  package let folder: Descriptor
  package let originals: any OriginalStore
  package let renditions: RenditionPlaces
  private let lock: FileLock
  private let root: BytePath
  private let bucket: BucketLocation?

  /// Opens the folder of the configuration, and makes a missing one.
  ///
  /// - Parameters:
  ///   - library: the identity of the library that the catalog belongs to.
  ///   - mayClaim: whether the library has no original yet, so that its bucket may bear no name.
  ///   - isStopped: called several times a second while bytes come from a bucket.
  /// - Throws: `IngestError` of code `notALibrary` if the folder is something else, or originals are not in reach.
  package init(
    _ layout: LibraryLayout, library: String, mayClaim: Bool = false,
    isStopped: @escaping @Sendable () -> Bool
  ) throws {
    let root = try Self.openRoot(layout, library)
    self.root = layout.root
    bucket = layout.bucket
    try LibraryFolder.requireOwn(root, "The folder")
    isOwn = try root.statusIfThere(of: LibraryLayout.marker) != nil
    if isOwn {
      let found = try LibraryFolder.open(layout)
      guard found.marker.library == library else {
        throw Self.refusal(
          layout,
          "is the library \(found.marker.library), and the catalog is that of \(library): correct \"library\" or \"catalog\""
        )
      }
      originals = try found.openOriginals(isStopped: isStopped)
      renditions = found.openRenditions(
        in: RenditionFolder(in: root), mayClaim: false, isStopped: isStopped)
    } else {
      guard let bucket = layout.bucket else {
        throw Self.refusal(
          layout,
          "is not the library's own, so its originals have to be in a bucket: set \"originals\" as for the library"
        )
      }
      let marker = LibraryMarker(library: library, bucket: bucket)
      let place = LibraryFolder(layout: layout, marker: marker, folder: root, bucket: bucket)
      originals = place.openBucket(bucket, mayClaim: mayClaim, isStopped: isStopped)
      renditions = place.openRenditions(
        in: AbsentRenditions(root: layout.root), mayClaim: false, isStopped: isStopped)
    }
    (folder, lock) = try Self.openPlace(in: root)
  }

  /// Refuses the library's own folder to a machine that joins a library.
  ///
  /// - Throws: `IngestError` of code `notALibrary`.
  package func requireJoined() throws {
    guard isOwn else { return }
    throw IngestError(
      .notALibrary,
      "“\(root.printable)” is the library's own folder, so this machine has nothing to join: remove \"joins\" from the "
        + "configuration, or name another folder.", path: root)
  }

  /// The setting that names the bucket of the library's originals.
  package static let originalsPlace = "originals.place"

  /// Refuses another bucket than the library's, which nothing else shows as long as it has no original.
  ///
  /// - Throws: `IngestError` of code `notALibrary`.
  package func requireStore(of catalog: Catalog) throws {
    guard let place = try catalog.setting(Self.originalsPlace), let bucket, place != bucket.name
    else { return }
    throw IngestError(
      .notALibrary,
      "The library's originals are in “\(place)”, and the configuration has them in “\(bucket.name)”. Nothing was done: "
        + "correct \"originals\".", path: root)
  }

  /// Takes the lock of whoever takes files with this folder; waits for it as long as `wait`.
  ///
  /// - Throws: `IngestError` of code `locked` if another process keeps it.
  package func lockForTaking(wait: Duration, isStopped: () -> Bool) throws -> FileLock {
    let folder = try Descriptor.openFolder(root)
    let deadline = ContinuousClock.now + wait
    while true {
      if let lock = try FileLock.attempt(LibraryLayout.lock, in: folder) { return lock }
      guard ContinuousClock.now < deadline, !isStopped() else { break }
      usleep(20_000)
    }
    let holder = FileLock.holder(LibraryLayout.lock, in: folder).map { " (process \($0))" } ?? ""
    throw IngestError(
      .locked,
      "Another pipeline\(holder) takes files with the folder “\(root.printable)”; nothing was done. `--wait` waits for it.",
      path: root)
  }

  /// Looks for what was imported last: a copy of the library, or a bucket that it has left, lacks it, and its jobs must
  /// not fail for that.
  ///
  /// - Returns: why that can't be known yet, if so, as sentences.
  /// - Throws: `IngestError` of code `notALibrary` if none of it is there.
  package func requireOriginals(of catalog: Catalog) throws -> String? {
    let newest = try catalog.newestOriginals()
    do throws(FileError) {
      for digest in newest where try originals.size(of: digest) != nil { return nil }
    } catch {
      guard error.code == .unavailable else { throw error }
      return "\(error.message) Until it can be used, no job is done here that needs an original."
    }
    guard let digest = newest.first else { return nil }
    throw IngestError(
      .notALibrary,
      "“\(originals.path(of: digest).printable)”, which was imported last, is not there. Is this the place of the "
        + "library's originals? Nothing was done.", path: root)
  }

  /// The identity of the library that the folder of a configuration is for work on; `nil` if it is no such folder.
  package static func library(of layout: LibraryLayout) throws(FileError) -> String? {
    let root = try ifThere { () throws(FileError) in try Descriptor.openFolder(layout.root) }
    let bytes = try root?.readFileIfThere(marker, limit: 1 << 16)
    return bytes.flatMap { try? JSONText.decode(Marker.self, from: $0) }?.library
  }

  /// The library that the folder of a configuration is for work on, as far as database and bucket have it; `nil` if it is no
  /// such folder.
  static func readable(_ layout: LibraryLayout) throws -> LibraryFolder? {
    guard layout.database != nil, let bucket = layout.bucket, let library = try library(of: layout)
    else { return nil }
    return LibraryFolder(
      layout: layout, marker: LibraryMarker(library: library, bucket: bucket),
      folder: try Descriptor.openFolder(layout.root), bucket: bucket)
  }

  private static func openRoot(_ layout: LibraryLayout, _ library: String) throws -> Descriptor {
    let found = try ifThere { () throws(FileError) in try Descriptor.openFolder(layout.root) }
    let root: Descriptor
    if let found {
      root = found
    } else {
      let parent = try Descriptor.openFolder(layout.root.parent)
      try parent.makeFolder(layout.root.lastComponent, mode: 0o700)
      root = try Descriptor.openFolder(layout.root)
    }
    guard try root.statusIfThere(of: LibraryLayout.marker) == nil else { return root }
    if let bytes = try root.readFileIfThere(marker, limit: 1 << 16) {
      guard let known = try? JSONText.decode(Marker.self, from: bytes) else {
        throw refusal(layout, "has a \(marker) that can't be read")
      }
      guard known.library == library else {
        throw refusal(
          layout, "is for work on the library \(known.library), and the catalog that of \(library)")
      }
      return root
    }
    // Another process may be making it.
    let others = Set(try root.entries().map(\.name)).subtracting(["work", "cache", "lost+found"])
    guard others.allSatisfy({ $0.bytes.starts(with: ".".utf8) }) else {
      throw refusal(layout, "is neither empty nor a folder for work on a library")
    }
    let text = try JSONText.encodePretty(Marker(library: library))
    do {
      try root.writeDurably(Array((text + "\n").utf8), as: marker)
    } catch {
      // Another process may have been faster.
      guard try Self.library(of: layout) == library else { throw error }
    }
    return root
  }

  /// Opens a folder in `work/` that no other process uses.
  private static func openPlace(in root: Descriptor) throws -> (Descriptor, FileLock) {
    var folder = root
    for name in ["work", places] { folder = try openOrMake(name, in: folder) }
    for number in 1...most {
      let place = try openOrMake(BytePath("\(number)"), in: folder)
      guard let lock = try FileLock.attempt(LibraryLayout.lock, in: place) else { continue }
      _ = try openOrMake("work", in: place)
      return (place, lock)
    }
    throw IngestError(
      .locked, "“\(folder.path.printable)” has \(most) processes already.", path: folder.path)
  }

  private static func openOrMake(
    _ name: BytePath, in parent: Descriptor
  ) throws(FileError) -> Descriptor {
    try parent.makeFolder(name, mode: 0o700)
    return try Descriptor.openFolder(name, in: parent, followsLinks: false)
  }

  private static func refusal(_ layout: LibraryLayout, _ what: String) -> IngestError {
    IngestError(
      .notALibrary,
      "“\(layout.root.printable)” \(what); nothing was done. For `pipeline work`, \"library\" names the library's "
        + "folder, or one for the work of this machine alone, which is made if it is missing.",
      path: layout.root)
  }
}

/// The renditions that are files, for a process that can't reach the library's folder.
private struct AbsentRenditions: RenditionStore {
  let root: BytePath

  private func error(_ code: FileError.Code) -> FileError {
    FileError(
      code,
      "“\(root.printable)” is not the library's own folder, so renditions that are files can be neither read nor "
        + "stored here.", path: root)
  }

  func put(_ renditions: [IncomingRendition]) throws(FileError) -> [String] {
    if renditions.isEmpty { return [] }
    throw error(.unsupported)
  }
  func open(_ path: String, copyOf digest: Digest?) throws(FileError) -> Descriptor {
    throw error(.unavailable)
  }
  func size(of path: String) throws(FileError) -> Int? { throw error(.unavailable) }
  func remove(_ path: String) throws(FileError) { throw error(.unavailable) }
  var place: String { RenditionLayout.root }
  var isOnServer: Bool { false }
  var callsAtOnce: Int { 1 }
}
