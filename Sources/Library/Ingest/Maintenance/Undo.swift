import Catalog
import Configuration
import Files
import Manifest
package import PipelineModel
import Records

package struct UndoResult: Hashable, Sendable {
  /// Files that are back where they came from.
  package var returned = 0
  /// Those of them that never left, so that nothing was written.
  package var left = 0
  /// Files that could not be returned; their assets stay.
  package var failed = 0
}

/// Returns a run's imports to where they came from, the newest first.
///
/// 1. *Returning* in the manifest, durable
/// 2. each original renamed or copied to its old path, never over anything,
///    with its permissions and time, file and folder durable
/// 3. *Returned* in the manifest, durable; then one transaction in the catalog
///
/// After a kill between any two steps, `ReturnRecovery` completes or reverts the return.
package struct Undo {
  let library: IngestLibrary
  let report: any IngestReport
  /// The number of assets that one flush of the manifest serves.
  private static let groupSize = 64

  package init(library: IngestLibrary, report: any IngestReport) {
    self.library = library
    self.report = report
  }

  /// - Parameter isStopped: whether to stop early; the rest stays as it is.
  package func undo(_ run: AssetID, isStopped: @escaping () -> Bool) throws -> UndoResult {
    var result = UndoResult()
    var last: AssetID?
    let folders = ReturnFolders { [library] source in
      // What is named to `import` is on any disk.
      if source == "/" { return try Descriptor.openFolder(source) }
      let mounts = MountGuard(library: library)
      try mounts.checkTable(source)
      let opened = try IngestSource(SourceConfiguration(path: source), for: library.layout)
      try mounts.check(opened)
      return opened.folder
    }
    while !isStopped() {
      let page = try library.reader.origins(of: run, before: last, limit: Self.groupSize)
      if page.isEmpty { break }
      // A group has one asset of each content: what happens to a second depends on the first.
      var digests: Set<Digest> = []
      let group = page.prefix { digests.insert($0.digest).inserted }
      last = group.last?.id
      let work = ReturnGroup(
        library: library, run: run, report: report, folders: folders, isStopped: isStopped)
      try work.returnFiles(Array(group), result: &result)
    }
    return result
  }
}

/// Opens the folders that files are returned to.
final class ReturnFolders {
  private let open: (BytePath) throws -> Descriptor
  private var roots: [BytePath: Descriptor] = [:]

  /// - Parameter open: opens a source of this machine.
  init(_ open: @escaping (BytePath) throws -> Descriptor) { self.open = open }

  /// Opens a path's folder as deep as it exists; creates nothing.
  ///
  /// - Returns: the deepest existing folder, and whether it is the path's own.
  func deepest(
    of path: BytePath, in source: BytePath
  ) throws -> (folder: Descriptor, isWhole: Bool) {
    var folder = try root(source)
    for part in path.components.dropLast() {
      let inner = try ifThere { () throws(FileError) in
        try Descriptor.openFolder(part, in: folder, followsLinks: false)
      }
      guard let inner else {
        guard try folder.statusIfThere(of: part) == nil else { throw noFolder(part, in: folder) }
        return (folder, false)
      }
      folder = inner
    }
    return (folder, true)
  }

  private func noFolder(_ name: BytePath, in folder: Descriptor) -> IngestError {
    let path = folder.path.appending(name)
    return IngestError(
      .source,
      "“\(path.printable)” is no folder, so nothing can be returned below it. Move it away and undo the run again.",
      path: path)
  }

  /// Opens a path's folder, creating what is missing below its source.
  func folder(of path: BytePath, in source: BytePath) throws -> Descriptor {
    var folder = try root(source)
    for part in path.components.dropLast() {
      if try folder.makeFolder(part, mode: 0o777) { try folder.sync() }
      folder = try Descriptor.openFolder(part, in: folder, followsLinks: false)
    }
    return folder
  }

  /// Opens a source, which must exist, and be mounted if it was before.
  private func root(_ source: BytePath) throws -> Descriptor {
    if let open = roots[source] { return open }
    if let place = MachinePath.place(of: source) {
      throw IngestError(
        .source,
        "It came from \(place), whose folders are not here. `pipeline get ID -o FILE` writes a copy.",
        path: source)
    }
    let opened = try open(source)
    roots[source] = opened
    return opened
  }
}

/// A file back in its place, open, with its folder.
struct ReturnedFile {
  let file: Descriptor
  let folder: Descriptor

  /// The hidden name of an incomplete copy.
  static func temporaryName(of taking: AssetID) -> BytePath {
    BytePath(".pipeline-return-\(taking)")
  }

  /// Restores the file's permissions and time, and waits until all of it is on disk.
  ///
  /// - Returns: the return with the file's identity.
  func finish(_ back: ManifestFact.Return) throws(FileError) -> ManifestFact.Return {
    try restore(back)
    try folder.sync()
    var ended = back
    ended.place.identity = try file.status().identity
    return ended
  }

  /// Restores the file's permissions and time, and waits until its bytes are on disk.
  func restore(_ back: ManifestFact.Return) throws(FileError) {
    try file.setModified(back.place.identity.modified)
    try file.setPermissions(back.place.permissions)
    try file.sync()
  }
}
