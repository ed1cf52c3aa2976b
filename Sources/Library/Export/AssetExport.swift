package import Catalog
import Files
import Glibc
import Hashing
package import Ingest
import Originals
package import PipelineModel
package import Query
import Synchronization

/// Copies originals or renditions out of a library, into folders for people and other programs.
///
/// Files are written in groups: copied side by side, flushed together, named one after the other, and
/// then listed in `SHA256SUMS`. A file has its name only after its bytes are on disk and match their
/// digest. Nothing is ever replaced.
package final class AssetExport {
  package struct Options: Sendable {
    package var layout: ExportLayout
    /// The rendition to export, as `NAME` or `STAGE/NAME`; `nil` for originals.
    package var rendition: String?
    package var transfer: ExportTransfer
    /// Reports what would be done and writes nothing.
    package var isDryRun: Bool

    package init(
      layout: ExportLayout, rendition: String? = nil, transfer: ExportTransfer = .auto,
      isDryRun: Bool = false
    ) {
      self.layout = layout
      self.rendition = rendition
      self.transfer = transfer
      self.isDryRun = isDryRun
    }
  }

  /// A file to write.
  private struct Item: Sendable {
    let asset: AssetRecord
    /// `nil` for the original.
    let rendition: RenditionRecord?
    let content: ExportPlaces.Content
    /// The path from the layout.
    let wanted: BytePath
    var path: BytePath
    let temporary: BytePath
  }

  /// The most files and bytes in a group.
  private static let mostItems = 64
  private static let mostBytes = 256 << 20

  package private(set) var counts = ExportCounts()

  private let options: Options
  private let originals: Descriptor
  private let renditions: RenditionReader
  private let report: (ExportedFile) -> Void
  private let isStopped: @Sendable () -> Bool
  /// `nil` in a dry run.
  private var folder: ExportFolder?
  private var checksums: ChecksumList?
  private var places: ExportPlaces
  private let flush: GroupFlush?
  private var group: [Item] = []
  private var groupBytes = 0
  /// Files that are there, but not in the list: an earlier export was killed, or it was removed.
  private var unlisted: [(path: BytePath, digest: Digest)] = []
  private var lastTemporary = 0

  /// Opens the destination, which nobody else may export to meanwhile.
  ///
  /// - Parameters:
  ///   - destination: an absolute path; the folder is made if it is missing.
  ///   - sources: the folders that the library imports from.
  ///   - report: called for each asset.
  ///   - isStopped: polled while large files are copied.
  /// - Throws: `ExportError`.
  package init(
    of library: LibraryFolder, _ catalog: CatalogReader, to destination: BytePath,
    sources: [BytePath], _ options: Options, report: @escaping (ExportedFile) -> Void,
    isStopped: @escaping @Sendable () -> Bool
  ) throws {
    self.options = options
    self.report = report
    self.isStopped = isStopped
    originals = library.folder
    renditions = RenditionReader(folder: library.folder, catalog: catalog)
    let excluded = try ExportExclusion(library, sources: sources)
    try excluded.check(destination)
    if options.isDryRun {
      let root = try ifThere { () throws(FileError) in try Descriptor.openFolder(destination) }
      checksums = try root.map { root throws(ExportError) in try ChecksumList(in: root) }
      places = ExportPlaces(in: root)
      flush = nil
    } else {
      let folder = try ExportFolder(destination, excluding: excluded.folders)
      checksums = try ChecksumList(in: folder.root)
      places = ExportPlaces(in: folder.root)
      flush = GroupFlush(folder.root)
      self.folder = folder
    }
  }

  /// Exports an asset, now or with a later one.
  ///
  /// - Throws: `ExportError` of code `noSpace`, or of code `destination` if it can't be written to.
  package func add(_ asset: AssetRecord, _ values: AssetValues) throws(ExportError) {
    let rendition: RenditionRecord?
    if let name = options.rendition {
      rendition = asset.renditions.first { $0.name == name || "\($0.stage)/\($0.name)" == name }
      guard rendition != nil else { return tell(asset, nil, .skipped) }
    } else {
      rendition = nil
    }
    let suffix = rendition.map { MediaType.fileExtension(of: $0.mediaType) }
    let wanted = options.layout.path(
      for: values, name: asset.name, path: asset.path, suffix: suffix)
    let content = ExportPlaces.Content(
      digest: rendition?.digest ?? asset.digest, size: rendition?.bytes ?? asset.size,
      modified: asset.modified)
    do throws(FileError) {
      switch try place(content, at: wanted) {
      case .present(let path):
        if !options.isDryRun, checksums?.digest(of: path) != content.digest {
          unlisted.append((path, content.digest))
        }
        tell(asset, path, .present)
      case .free(let path) where options.isDryRun:
        tell(asset, path, .exported, bytes: content.size)
      case .free(let path):
        lastTemporary += 1
        group.append(
          Item(
            asset: asset, rendition: rendition, content: content, wanted: wanted, path: path,
            temporary: ExportFolder.temporaryName(lastTemporary)))
        groupBytes += content.size
      }
    } catch {
      try fail(asset, wanted, error)
    }
    if group.count + unlisted.count >= Self.mostItems || groupBytes >= Self.mostBytes {
      try writeGroup()
    }
  }

  /// Exports what waits for others. Nothing may be added afterwards.
  package func finish() throws(ExportError) {
    try writeGroup()
    folder?.close()
  }

  private func place(
    _ content: ExportPlaces.Content, at wanted: BytePath
  ) throws(FileError) -> ExportPlaces.Place {
    try places.place(content, at: wanted) { checksums?.digest(of: $0) }
  }

  // MARK: Groups

  private func writeGroup() throws(ExportError) {
    defer {
      group = []
      groupBytes = 0
      unlisted = []
      places.placed()
    }
    guard !group.isEmpty || !unlisted.isEmpty, var folder else { return }
    defer { self.folder = folder }
    let (staging, options, originals, renditions, isStopped) = (
      folder.staging, options, originals, renditions, isStopped
    )
    let written = group.concurrentMap { item in
      Result { () throws(FileError) -> Descriptor in
        try StagedExport(
          originals: originals, renditions: renditions, transfer: options.transfer,
          isStopped: isStopped
        ).write(item.rendition, of: item.asset, item.content, as: item.temporary, in: staging)
      }
    }
    let isFlushed = flush?.run(files: written.count) ?? false
    var named: [Item] = []
    var failures: [(item: Item, error: FileError)] = []
    for (item, result) in zip(group, written) {
      do throws(FileError) {
        let file = try result.get()
        if !isFlushed { try file.sync() }
        named.append(try name(item, in: &folder))
      } catch {
        // Clean-up: the next export removes what remains.
        try? staging.remove(item.temporary)
        failures.append((item, error))
      }
    }
    do throws(FileError) {
      try folder.sync()
      try checksums?.append(unlisted + named.map { ($0.path, $0.content.digest) })
    } catch {
      throw Self.fatal(error) ?? ExportError(.destination, error.message, path: error.path)
    }
    for item in named { tell(item.asset, item.path, .exported, bytes: item.content.size) }
    for (item, error) in failures where error.code != .stopped {
      try fail(item.asset, item.path, error)
    }
  }

  /// Gives a staged file its name, or another if somebody took that meanwhile.
  private func name(_ item: Item, in folder: inout ExportFolder) throws(FileError) -> Item {
    var item = item
    while true {
      do throws(FileError) {
        try folder.place(item.temporary, at: item.path)
        return item
      } catch let error where error.code == .exists {
        switch try place(item.content, at: item.wanted) {
        case .free(let path): item.path = path
        case .present(let path):
          item.path = path
          try folder.staging.remove(item.temporary)
          return item
        }
      }
    }
  }

  // MARK: Telling

  private func tell(
    _ asset: AssetRecord, _ path: BytePath?, _ outcome: ExportedFile.Outcome, bytes: Int = 0
  ) {
    let file = ExportedFile(asset: asset.id, path: path, bytes: bytes, outcome: outcome)
    counts.add(file)
    report(file)
  }

  private func fail(
    _ asset: AssetRecord, _ path: BytePath, _ error: FileError
  ) throws(ExportError) {
    tell(asset, path, .failed(error))
    if let fatal = Self.fatal(error) { throw fatal }
  }

  /// The error that ends an export, because every other file would fail, too.
  private static func fatal(_ error: FileError) -> ExportError? {
    switch error.code {
    case .noSpace where error.errno != EFBIG:
      ExportError(
        .noSpace,
        "\(error.message) What was exported is complete; make room and run the same command again.",
        path: error.path)
    case .readOnly: ExportError(.destination, error.message, path: error.path)
    default: nil
    }
  }
}
