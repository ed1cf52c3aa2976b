import Catalog
import Files
import Glibc
import Hashing
import Ingest
import Originals
import PipelineModel
import Records

/// Writes one file to be exported, under a temporary name.
struct StagedExport: Sendable {
  let library: LibraryFolder
  let renditions: RenditionReader
  let transfer: ExportTransfer
  let isStopped: @Sendable () -> Bool

  /// - Returns: the file, whose bytes match their digest; they are on disk, its name and size may not be.
  /// - Throws: `FileError`, of code `changed` if the library's bytes are damaged.
  func write(
    _ rendition: RenditionRecord?, of asset: AssetRecord, _ content: ExportPlaces.Content,
    as name: BytePath, in folder: Descriptor
  ) throws(FileError) -> Descriptor {
    if isStopped() { throw .stopped(name) }
    let file: Descriptor
    if let rendition {
      file = try Self.make(name, in: folder)
      try copy(rendition, of: asset, to: file)
    } else if let originals = library.remoteOriginals {
      guard [.auto, .copy].contains(transfer) else {
        throw FileError(
          .crossDevice,
          "Originals in a bucket can only be copied; export with --transfer auto.",
          path: folder.path)
      }
      file = try Self.make(name, in: folder)
      let digest = try originals.copy(asset.digest, to: file, isStopped: isStopped)
      guard digest == content.digest else {
        throw .damagedOriginal(originals.path(of: asset.digest))
      }
    } else {
      let original = try library.openOriginal(asset.digest)
      if transfer == .hardlink {
        file = try link(original, as: name, in: folder)
      } else {
        file = try Self.make(name, in: folder)
      }
      guard try fill(file, from: original) == content.digest else {
        throw .damagedOriginal(original.path)
      }
      // A second name has the original's time.
      if transfer == .hardlink { return file }
    }
    try file.setModified(content.modified)
    try file.writePages()
    return file
  }

  /// - Throws: `FileError` if there is no original of the right size.
  func checkOriginal(of asset: AssetRecord) throws(FileError) {
    let path = library.pathOfOriginal(asset.digest)
    guard let size = try library.sizeOfOriginal(asset.digest) else {
      throw FileError(.notFound, "The original “\(path.printable)” is missing.", path: path)
    }
    guard size == asset.size else { throw .damagedOriginal(path) }
  }

  static func make(
    _ name: BytePath, in folder: Descriptor
  ) throws(FileError) -> Descriptor {
    try Descriptor.open(
      name, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666)
  }

  /// Gives the original a second name.
  private func link(
    _ original: Descriptor, as name: BytePath, in folder: Descriptor
  ) throws(FileError) -> Descriptor {
    do throws(FileError) {
      try folder.link(original.path, as: name)
    } catch let error where error.code == .crossDevice {
      throw FileError(
        .crossDevice,
        "“\(folder.path.parent.printable)” is not on the library's file system, so it can't have hard "
          + "links to originals; export with --transfer auto.", path: folder.path)
    }
    let file = try Descriptor.openRegular(name, in: folder)
    guard try file.status().isSameNode(as: original.status()) else {
      throw FileError(
        .changed, "“\(original.path.printable)” was replaced meanwhile.", path: original.path)
    }
    return file
  }

  /// - Returns: the digest of the original's bytes.
  private func fill(
    _ file: Descriptor, from original: Descriptor
  ) throws(FileError) -> Digest {
    switch transfer {
    case .auto: return try file.fill(from: original, isStopped: isStopped)
    case .hardlink: return try original.hash(isStopped: isStopped).digest
    case .copy:
      return try copy(to: file) { write throws(FileError) in try original.forEachChunk(write) }
    case .reflink:
      guard try file.clone(from: original) else {
        throw FileError(
          .crossDevice,
          "“\(file.path.parent.parent.printable)” can't share blocks with the library's file system; "
            + "export with --transfer auto.", path: file.path)
      }
      return try file.hash(isStopped: isStopped).digest
    }
  }

  private func copy(
    _ rendition: RenditionRecord, of asset: AssetRecord, to file: Descriptor
  ) throws(FileError) {
    let content: VerifiedRendition
    do {
      content = try renditions.content(of: rendition, of: asset.id)
    } catch let error as FileError {
      throw error
    } catch {
      throw FileError(.other, "\(error)", path: nil)
    }
    let digest = try copy(to: file) { write throws(FileError) in try content.forEachChunk(write) }
    guard digest == rendition.digest else {
      throw FileError(
        .changed,
        "The rendition \(rendition.stage)/\(rendition.name) of \(asset.id) changed while it was "
          + "copied; export it again.", path: nil)
    }
  }

  private func copy(
    to file: Descriptor,
    _ body: ((UnsafeRawBufferPointer) throws(FileError) -> Void) throws(FileError) -> Void
  ) throws(FileError) -> Digest {
    let hash = SHA256()
    try body { chunk throws(FileError) in
      if isStopped() { throw .stopped(file.path) }
      hash.update(chunk)
      try file.write(chunk)
    }
    return hash.finalize()
  }
}
