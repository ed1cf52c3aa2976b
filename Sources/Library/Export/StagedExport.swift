import Catalog
import Files
import Glibc
import Hashing
import Ingest
import Originals
import PipelineModel

/// Writes one file to be exported, under a temporary name.
struct StagedExport: Sendable {
  /// The library's folder.
  let originals: Descriptor
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
    let digest: Digest
    if let rendition {
      file = try Self.make(name, in: folder)
      digest = try copy(rendition, of: asset, to: file)
    } else {
      let original = try openOriginal(asset.digest)
      if transfer == .hardlink {
        try folder.link(original.path, as: name)
        file = try Descriptor.openRegular(name, in: folder)
        digest = try file.hash(expecting: asset.size, isStopped: isStopped).digest
      } else {
        file = try Self.make(name, in: folder)
        digest = try copy(original, to: file)
      }
    }
    guard digest == content.digest else {
      throw FileError(
        .changed,
        "The original of \(asset.id) is damaged: its bytes don't match its hash. Import the file "
          + "again from a good copy to repair it.", path: nil)
    }
    // A second name has the original's time.
    if rendition != nil || transfer != .hardlink {
      try file.setModified(content.modified)
      try file.writePages()
    }
    return file
  }

  private static func make(
    _ name: BytePath, in folder: Descriptor
  ) throws(FileError) -> Descriptor {
    try Descriptor.open(
      name, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666)
  }

  private func openOriginal(_ digest: Digest) throws(FileError) -> Descriptor {
    let path = BytePath("originals").appending(OriginalLayout.path(of: digest))
    return try Descriptor.openRegular(
      path.lastComponent, in: originals.openParent(of: path))
  }

  /// - Returns: the digest of the bytes.
  private func copy(_ original: Descriptor, to file: Descriptor) throws(FileError) -> Digest {
    switch transfer {
    case .auto, .hardlink: return try file.fill(from: original, isStopped: isStopped)
    case .copy:
      return try copy(to: file) { write throws(FileError) in try original.forEachChunk(write) }
    case .reflink:
      guard try file.clone(from: original) else {
        throw FileError(
          .other,
          "The file system of “\(folderName(file))” can't share blocks with the library's; export "
            + "with --transfer auto or copy.", path: nil)
      }
      return try file.hash(isStopped: isStopped).digest
    }
  }

  private func folderName(_ file: Descriptor) -> String { file.path.parent.parent.printable }

  private func copy(
    _ rendition: RenditionRecord, of asset: AssetRecord, to file: Descriptor
  ) throws(FileError) -> Digest {
    let content: VerifiedRendition?
    do {
      content = try renditions.content(of: rendition)
    } catch let error as FileError {
      throw error
    } catch {
      throw FileError(.other, "\(error)", path: nil)
    }
    guard let content else {
      throw FileError(
        .changed,
        "The rendition \(rendition.stage)/\(rendition.name) of \(asset.id) is missing or damaged; "
          + "`pipeline retry \(asset.id)` and `pipeline run` make it again.", path: nil)
    }
    return try copy(to: file) { write throws(FileError) in try content.forEachChunk(write) }
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
