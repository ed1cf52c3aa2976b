package import Catalog
import Files
import Glibc
package import Ingest
import Originals
package import PipelineModel
package import Query
package import Records

/// Copies originals or renditions out of a library, into folders for people and other programs.
///
/// Files are written in groups: copied side by side, flushed together, named one after the other, and
/// then listed in `SHA256SUMS`. A file has its name only after its bytes are on disk and match their
/// digest. Nothing is ever replaced but sidecars that an export wrote and nobody changed.
package final class AssetExport {
  /// What to export, and how.
  package struct Options: Sendable {
    package var layout: ExportLayout
    /// The rendition to export, as `NAME` or `STAGE/NAME`; `nil` for originals.
    package var rendition: String?
    /// How originals are copied; renditions are always copied.
    package var transfer: ExportTransfer
    /// Whether to write what is known of each asset into an XMP file beside it.
    package var hasSidecars: Bool
    /// Reports what would be done and writes nothing.
    package var isDryRun: Bool

    package init(
      layout: ExportLayout, rendition: String? = nil, transfer: ExportTransfer = .auto,
      hasSidecars: Bool = false, isDryRun: Bool = false
    ) {
      self.layout = layout
      self.rendition = rendition
      self.transfer = transfer
      self.hasSidecars = hasSidecars
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
    /// The path that it gets.
    var path: BytePath
    let temporary: BytePath
    /// Other assets with the same path and bytes.
    var others: [AssetRecord] = []
  }

  /// The most files and bytes in a group.
  private static let mostItems = 64
  private static let mostBytes = 256 << 20

  /// How often another path is tried because somebody else takes them.
  private static let mostAttempts = 100

  /// What came of the assets so far.
  package private(set) var counts = ExportCounts()

  private let options: Options
  private let staged: StagedExport
  private let report: (ExportedFile) -> Void
  private let isStopped: @Sendable () -> Bool
  private let exclusion: ExportExclusion
  /// The destination; `nil` if there is none yet.
  private let root: Descriptor?
  /// `nil` in a dry run.
  private var folder: ExportFolder?
  /// `nil` if there is no destination yet.
  private var checksums: ChecksumList?
  private var places: ExportPlaces
  private let flush: GroupFlush?
  private var group: [Item] = []
  private var groupBytes = 0
  private var sidecars = SidecarGroup()
  /// Files that are there but not in the list: an export was killed, or the list was removed.
  private var unlisted: [(path: BytePath, digest: Digest)] = []

  /// Opens the destination, which nobody else may export to meanwhile.
  ///
  /// - Parameters:
  ///   - destination: an absolute path; the folder is made if it is missing.
  ///   - sources: the folders that the library imports from.
  ///   - report: called for each asset.
  ///   - isStopped: polled while large files are read and copied.
  /// - Throws: `ExportError` of code `destination` or `locked`.
  package init(
    of library: LibraryFolder, _ catalog: CatalogReader, to destination: BytePath,
    sources: [BytePath], _ options: Options, report: @escaping (ExportedFile) -> Void,
    isStopped: @escaping @Sendable () -> Bool
  ) throws(ExportError) {
    self.options = options
    self.report = report
    self.isStopped = isStopped
    do throws(CatalogError) {
      staged = StagedExport(
        library: library, renditions: try RenditionReader(of: library, catalog),
        transfer: options.transfer, isStopped: isStopped)
    } catch {
      throw ExportError(.destination, error.message, path: error.path)
    }
    let exclusion: ExportExclusion
    var root: Descriptor?
    do throws(FileError) {
      exclusion = try ExportExclusion(library, sources: sources)
      root = try ifThere { () throws(FileError) in try Descriptor.openFolder(destination) }
    } catch {
      throw ExportError(.destination, error.message, path: error.path)
    }
    try exclusion.check(destination)
    if !options.isDryRun {
      let folder = try ExportFolder(destination, excluding: exclusion)
      self.folder = folder
      root = folder.root
      flush = GroupFlush(folder.root)
    } else {
      flush = nil
    }
    places = ExportPlaces(in: root, isStopped: isStopped)
    self.root = root
    self.exclusion = exclusion
    do throws(ExportError) {
      if let root { checksums = try ChecksumList(in: root) }
    } catch {
      folder?.close()
      throw error
    }
  }

  deinit { folder?.close() }

  /// Exports an asset, now or with a later one.
  ///
  /// - Throws: `ExportError` of code `noSpace`, or of code `destination` if it can't be written to.
  package func add(_ asset: AssetRecord, _ values: AssetValues) throws(ExportError) {
    var rendition: RenditionRecord?
    if let name = options.rendition {
      let found = asset.renditions(named: name)
      guard found.count < 2 else { return try fail(asset, nil, Self.ambiguous(name, found)) }
      rendition = found.first
      if rendition == nil { return tell(asset, nil, .skipped) }
    }
    let suffix = rendition.map { MediaType.fileExtension(of: $0.mediaType) }
    let wanted = options.layout.path(
      for: values, name: asset.name, path: asset.path, suffix: suffix)
    let content = ExportPlaces.Content(
      digest: rendition?.digest ?? asset.digest, size: rendition?.bytes ?? asset.size,
      modified: asset.modified)
    do throws(FileError) {
      switch try places.place(content, at: wanted, listedIn: checksums) {
      case .free(let path) where folder == nil:
        if let root { try exclusion.check(path, below: root) }
        if rendition == nil { try staged.checkOriginal(of: asset) }
        tell(asset, path, .exported, wanted: wanted, bytes: content.size)
      case .claimed(let path) where folder == nil: tell(asset, path, .present)
      case .free(let path):
        group.append(
          Item(
            asset: asset, rendition: rendition, content: content, wanted: wanted, path: path,
            temporary: folder?.nextTemporaryName() ?? ""))
        groupBytes += content.size
        addSidecar(of: asset, values)
      case .claimed(let path):
        if let index = group.firstIndex(where: { $0.path == path }) {
          group[index].others.append(asset)
          addSidecar(of: asset, values)
        }
      case .present(let path):
        if folder != nil, checksums?.digest(of: path) != content.digest {
          unlisted.append((path, content.digest))
        }
        addSidecar(of: asset, values, beside: path)
        tell(asset, path, .present)
      }
    } catch {
      if error.code == .stopped { return }
      try fail(asset, wanted, error)
    }
    if group.count + unlisted.count >= Self.mostItems || sidecars.count >= Self.mostItems
      || groupBytes >= Self.mostBytes
    {
      try writeGroup()
    }
  }

  /// Exports what waits for others. Nothing may be added afterwards.
  package func finish() throws(ExportError) {
    try writeGroup()
    guard let folder else { return }
    do throws(FileError) {
      try checksums?.finish(by: folder.staging)
    } catch {
      throw Self.fatal(error) ?? ExportError(.destination, error.message, path: error.path)
    }
  }

  /// - Parameter file: the path of the exported file; `nil` until that has its name.
  private func addSidecar(
    of asset: AssetRecord, _ values: AssetValues, beside file: BytePath? = nil
  ) {
    guard options.hasSidecars, let folder else { return }
    let packet = XMPSidecar(values, of: asset.id)
    if let file {
      let path = SidecarGroup.path(beside: file)
      // What can't be read is told where it would be written.
      let found = try? folder.contents(of: path, atMost: XMPSidecar.mostBytes)
      if found == nil, packet.isEmpty { return }
      if found == packet.bytes, checksums?.digest(of: path) == packet.digest {
        counts.sidecars += 1
        return
      }
    } else if packet.isEmpty {
      return
    }
    guard let temporary = self.folder?.nextTemporaryName() else { return }
    sidecars.add(.init(asset: asset, file: file, packet: packet, temporary: temporary))
  }

  private static func ambiguous(_ name: String, _ found: [RenditionRecord]) -> FileError {
    let names = found.map { "\($0.stage)/\($0.name)" }.joined(separator: ", ")
    return FileError(.other, "“\(name)” matches \(names); write one of them.", path: nil)
  }

  // MARK: Groups

  private func writeGroup() throws(ExportError) {
    guard var folder, !group.isEmpty || !unlisted.isEmpty || sidecars.count > 0 else { return }
    defer {
      self.folder = folder
      group = []
      groupBytes = 0
      unlisted = []
      sidecars.removeAll()
      places.withdrawAll()
    }
    var named: [Item] = []
    var failures: [(item: Item, error: FileError)] = []
    let written = write(group, sidecars, in: folder.staging)
    for (item, result) in zip(group, written.files) {
      do throws(FileError) {
        _ = try result.get()
        if let item = try name(item, in: &folder) { named.append(item) }
      } catch {
        // Clean-up: the next export removes what remains.
        try? folder.staging.remove(item.temporary)
        failures.append((item, error))
      }
    }
    var files: [AssetID: BytePath] = [:]
    for item in named { for asset in [item.asset] + item.others { files[asset.id] = item.path } }
    let placed = sidecars.place(
      written.sidecars, beside: files, in: &folder, listedIn: &checksums)
    counts.sidecars += placed.count
    var listError: FileError?
    do throws(FileError) {
      for (path, _) in unlisted { try folder.flush(path) }
      try folder.sync()
      try checksums?.append(
        unlisted + named.map { ($0.path, $0.content.digest) } + placed.there)
    } catch {
      listError = error
    }
    for item in named {
      tell(item.asset, item.path, .exported, wanted: item.wanted, bytes: item.content.size)
      for other in item.others { tell(other, item.path, .present) }
    }
    try tell(failures, in: folder)
    for (asset, path, error) in placed.failed {
      try fail(
        asset, path, error.naming(folder.root.path.appending(path), insteadOf: folder.staging.path))
    }
    if let error = listError {
      throw Self.fatal(error) ?? ExportError(.destination, error.message, path: error.path)
    }
  }

  /// Writes staged files, and waits until they are on disk.
  private func write(
    _ items: [Item], _ sidecars: SidecarGroup, in staging: Descriptor
  ) -> (files: [Result<Descriptor, FileError>], sidecars: [Result<Descriptor, FileError>]) {
    let staged = staged
    let write: @Sendable (Item) -> Result<Descriptor, FileError> = { item in
      Result { () throws(FileError) in
        try staged.write(
          item.rendition, of: item.asset, item.content, as: item.temporary, in: staging)
      }
    }
    let originals = options.rendition == nil ? staged.library.remoteOriginals : nil
    let files =
      originals.map { items.map(width: $0.readsAtOnce, write) } ?? items.concurrentMap(write)
    let written = files + sidecars.stage(in: staging)
    let count = written.count { if case .success = $0 { true } else { false } }
    var flushed = written
    if flush?.run(files: count) != true {
      flushed = written.concurrentMap { result in
        Result { () throws(FileError) in
          let file = try result.get()
          try file.sync()
          return file
        }
      }
    }
    return (Array(flushed[..<files.count]), Array(flushed[files.count...]))
  }

  /// Gives a staged file its name, or another if somebody took that meanwhile.
  ///
  /// - Returns: the item with its path; `nil` if its bytes are there by now, which was told.
  private func name(_ item: Item, in folder: inout ExportFolder) throws(FileError) -> Item? {
    var item = item
    var attempts = 0
    while true {
      do throws(FileError) {
        try folder.rename(item.temporary, to: item.path)
        return item
      } catch let error where error.code == .exists && attempts < Self.mostAttempts {
        attempts += 1
        // Its own claim must not be taken for the file.
        places.withdraw(item.path)
        switch try places.place(item.content, at: item.wanted, listedIn: checksums) {
        case .free(let path): item.path = path
        case .claimed: throw error
        case .present(let path):
          try folder.staging.remove(item.temporary)
          unlisted.append((path, item.content.digest))
          for asset in [item.asset] + item.others { tell(asset, path, .present) }
          return nil
        }
      }
    }
  }

  // MARK: Telling

  private func tell(
    _ asset: AssetRecord, _ path: BytePath?, _ outcome: ExportedFile.Outcome,
    wanted: BytePath? = nil, bytes: Int = 0
  ) {
    let file = ExportedFile(
      asset: asset.id, path: path, isRenamed: wanted != nil && wanted != path, bytes: bytes,
      outcome: outcome)
    counts.add(file)
    report(file)
  }

  /// Tells all failures of a group before the first that ends the export does so.
  private func tell(
    _ failures: [(item: Item, error: FileError)], in folder: ExportFolder
  ) throws(ExportError) {
    var fatal: ExportError?
    for (item, error) in failures where error.code != .stopped {
      let isStaging = error.path?.relative(to: folder.staging.path) != nil
      let named = error.naming(
        folder.root.path.appending(item.path), insteadOf: folder.staging.path)
      for asset in [item.asset] + item.others { tell(asset, item.path, .failed(named)) }
      fatal = fatal ?? Self.fatal(named, isStaging: isStaging)
    }
    if let fatal { throw fatal }
  }

  private func fail(
    _ asset: AssetRecord, _ path: BytePath?, _ error: FileError
  ) throws(ExportError) {
    tell(asset, path, .failed(error))
    if let fatal = Self.fatal(error) { throw fatal }
  }

  /// The error that ends an export, because every other file would fail, too.
  ///
  /// - Parameter isStaging: whether it is about the folder of staged files.
  private static func fatal(_ error: FileError, isStaging: Bool = false) -> ExportError? {
    switch error.code {
    case .noSpace where error.errno != EFBIG:
      ExportError(
        .noSpace,
        "\(error.message) What was exported is complete; make room and run the same command again.",
        path: error.path)
    case .readOnly where isStaging, .crossDevice:
      ExportError(.destination, error.message, path: error.path)
    default: nil
    }
  }
}

extension FileError {
  /// The error with the path that a file was to get, instead of that where it was written.
  fileprivate func naming(_ path: BytePath, insteadOf staging: BytePath) -> FileError {
    guard errno != 0, self.path?.relative(to: staging) != nil else { return self }
    return FileError("write", path, errno: errno)
  }
}
