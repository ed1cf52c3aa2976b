import Catalog
package import Configuration
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
/// After a kill between any two steps, `ReturnRecovery` completes or reverts the return. On a machine that joins, files are
/// always copied, another machine is asked for the last step, and `endReturns` does that after a kill.
package struct Undo {
  let library: ImportingLibrary
  let sources: LocalSources
  let report: any IngestReport
  /// The number of assets that one flush of the manifest serves.
  private static let groupSize = 64

  /// How often others may change what is to be returned, for each group.
  private static let mostOvertakings = 3

  /// - Parameter sources: the configured ones.
  package init(
    library: ImportingLibrary, sources: [SourceConfiguration], report: any IngestReport
  ) {
    self.library = library
    self.sources = LocalSources(library.layout, configured: sources)
    self.report = report
  }

  /// - Parameter isStopped: whether to stop early; the rest stays as it is.
  package func undo(_ run: AssetID, isStopped: @escaping () -> Bool) throws -> UndoResult {
    var result = UndoResult()
    var last: AssetID?
    var overtakings = 0
    let folders = ReturnFolders(sources) { [library] source in
      // What is named to `import` is on any disk.
      if source.path == "/" { return try Descriptor.openFolder(source.path) }
      try library.requireHold(source.shared)
      let mounts = MountGuard(library: library)
      try mounts.checkTable(source.path)
      let opened = try IngestSource(source, for: library.layout)
      try mounts.check(opened)
      return opened.folder
    }
    try library.endReturns(to: { (try? folders.open($0)) != nil }, report)
    while !isStopped() {
      let page = try library.reader.origins(of: run, before: last, limit: Self.groupSize)
      if page.isEmpty { break }
      // A group has one asset of each content: what happens to a second depends on the first.
      var digests: Set<Digest> = []
      let group = page.prefix { digests.insert($0.digest).inserted }
      let work = ReturnGroup(
        library: library, run: run, report: report, folders: folders, isStopped: isStopped)
      do {
        try work.returnFiles(Array(group), result: &result)
        (last, overtakings) = (group.last?.id, 0)
      } catch is OvertakenImport {
        // Files that were put back are found in their places.
        overtakings += 1
        guard overtakings <= Self.mostOvertakings else {
          throw IngestError(
            .catalog, "Others keep changing what is to be returned. Undo the run again.")
        }
      }
    }
    return result
  }
}

/// Opens the folders that files are returned to, by their sources as they are recorded.
final class ReturnFolders {
  private let sources: LocalSources
  private let openRoot: (SourceConfiguration) throws -> Descriptor
  private var roots: [BytePath: Descriptor] = [:]

  /// - Parameter open: opens a source of this machine.
  init(_ sources: LocalSources, _ open: @escaping (SourceConfiguration) throws -> Descriptor) {
    self.sources = sources
    openRoot = open
  }

  /// The absolute path of a file; that of another machine as it is recorded.
  func path(of path: BytePath, in source: BytePath) -> BytePath {
    (sources.path(of: source) ?? source).appending(path)
  }

  /// Whether a file was named to `import`, so that no missing folder is made for it.
  func isNamed(in source: BytePath) throws -> Bool { try sources.source(source).path == "/" }

  /// Opens a path's folder as deep as it exists; creates nothing.
  ///
  /// - Returns: the deepest existing folder, and whether it is the path's own.
  func deepest(
    of path: BytePath, in source: BytePath
  ) throws -> (folder: Descriptor, isWhole: Bool) {
    var folder = try open(source)
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
    var folder = try open(source)
    for part in path.components.dropLast() {
      if try folder.makeFolder(part, mode: 0o777) { try folder.sync() }
      folder = try Descriptor.openFolder(part, in: folder, followsLinks: false)
    }
    return folder
  }

  /// Opens a source, which must exist, and be mounted if it was before.
  func open(_ source: BytePath) throws -> Descriptor {
    if let root = roots[source] { return root }
    let opened = try openRoot(sources.source(source))
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
