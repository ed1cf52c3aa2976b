import Catalog
import Configuration
import Files
import Glibc
import Hashing
package import PipelineModel
import PipelinePlugin

/// Brings plugin output into the library: checked, hashed and durable.
struct RenditionStore: Sendable {
  /// `auto` keeps renditions of up to this many bytes in the database.
  ///
  /// See `docs/decisions/0006-rendition-storage.md` for the measurement.
  static let threshold = 64 << 10

  /// Larger renditions are files under every policy: they would be held in memory as a whole, and
  /// SQLite limits a value to 1 GB.
  static let greatestInDatabase = 64 << 20

  private let library: Descriptor

  init(library: Descriptor) { self.library = library }

  /// The most bytes that a policy keeps in the database; -1 for none.
  static func threshold(of storage: StageConfiguration.Storage) -> Int {
    switch storage {
    case .database: greatestInDatabase
    case .file: -1
    case .auto: threshold
    }
  }

  /// Reads and checks one file that a plugin made; does not make it durable.
  ///
  /// - Parameters:
  ///   - output: the folder that the plugin was given; files elsewhere are refused, whatever their
  ///     path says.
  ///   - isStopped: called for each mebibyte.
  /// - Throws: `FileError`, of code `stopped` if `isStopped` returns `true`.
  func collect(
    _ rendition: PluginRendition, from output: Descriptor,
    storage: StageConfiguration.Storage, isStopped: @escaping () -> Bool = { false }
  ) throws(FileError) -> CollectedRendition {
    let path = BytePath(rendition.path)
    guard !path.isAbsolute else {
      throw FileError(.link, "“\(path.printable)” is not below the output folder.", path: path)
    }
    let folder = try output.openParent(of: path)
    let file = try Descriptor.open(
      path.lastComponent, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    let status = try file.status()
    guard status.kind == .regular, status.links == 1 else {
      throw FileError(.notRegular, "“\(path.printable)” is not a regular file.", path: path)
    }
    let size = status.identity.size
    guard size > Self.threshold(of: storage) else {
      let bytes = try file.readToEnd(limit: size)
      return CollectedRendition(
        rendition: rendition, size: bytes.count, digest: SHA256.digest(of: bytes), bytes: bytes,
        file: file, folder: folder, name: path.lastComponent)
    }
    let own = try detached(
      file, named: path.lastComponent, in: folder, size: size, isStopped: isStopped)
    let hashed = try own.hash(isStopped: isStopped)
    try own.startWriting()
    return CollectedRendition(
      rendition: rendition, size: hashed.size, digest: hashed.digest, bytes: nil, file: own,
      folder: folder, name: path.lastComponent)
  }

  /// Returns a file that nobody else can write to: the file itself, or a copy if that is uncertain.
  ///
  /// The file was moved to where only this program has access, so its maker can't reopen it, but
  /// may still have it open.
  private func detached(
    _ file: Descriptor, named name: BytePath, in folder: Descriptor, size: Int,
    isStopped: @escaping () -> Bool
  ) throws(FileError) -> Descriptor {
    if file.acquireLease() == .granted {
      file.releaseLease()
      return file
    }
    try folder.remove(name)
    let copy = try Descriptor.open(
      name, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    // Stop copying a file that grows faster than it is copied.
    var rest = size >> 20 + 2
    do throws(FileError) {
      _ = try copy.fill(from: file) {
        rest -= 1
        return rest < 0 || isStopped()
      }
    } catch let error where error.code == .stopped && rest < 0 {
      throw FileError(
        .changed, "“\(name.printable)” grew while it was copied: its plugin still writes to it.",
        path: file.path)
    }
    try copy.seek(to: 0)
    return copy
  }

  /// Makes a group's renditions durable with one flush per folder.
  func store(
    _ jobs: [(job: ClaimedJob, renditions: [CollectedRendition], kept: [KeptRendition])]
  ) throws(FileError) -> [[NewRendition]] {
    var touched: [BytePath: Descriptor] = [:]
    // First what can be done twice: a file that a plugin made is moved, so it is there only once.
    var stored = try jobs.map { job, _, kept throws(FileError) in
      try kept.map { kept throws(FileError) in
        if case .database(let bytes) = kept.content { return kept.new(.database(bytes)) }
        let path = try place(kept, of: job, touched: &touched)
        return kept.new(.file(path: path.description))
      }
    }
    for (index, (job, renditions, _)) in jobs.enumerated() {
      stored[index] += try renditions.map { rendition throws(FileError) in
        if let bytes = rendition.bytes { return rendition.record(.database(bytes)) }
        let path = try place(rendition, of: job, touched: &touched)
        return rendition.record(.file(path: path.description))
      }
    }
    for folder in touched.values { try folder.sync() }
    return stored
  }

  private func place(
    _ rendition: CollectedRendition, of job: ClaimedJob, touched: inout [BytePath: Descriptor]
  ) throws(FileError) -> BytePath {
    let owner = job.owner
    let folder = RenditionLayout.folder(stage: job.stage, owner: owner)
    let name = RenditionLayout.name(
      owner: owner, fingerprint: job.fingerprint, rendition: rendition.rendition.name,
      mediaType: rendition.rendition.mediaType)
    try rendition.file.setPermissions(0o600)
    try rendition.file.sync()
    let place = try open(folder, touched: &touched)
    do throws(FileError) {
      try rendition.folder.replace(rendition.name, to: place, as: name)
    } catch {
      // A group that could not be stored is stored again, job by job.
      guard error.code == .notFound,
        let there = try place.statusIfThere(of: name)?.identity,
        there.isSameFile(as: try rendition.file.status().identity)
      else { throw error }
    }
    return folder.appending(name)
  }

  /// Makes the file of a kept rendition that its job's row will name.
  private func place(
    _ kept: KeptRendition, of job: ClaimedJob, touched: inout [BytePath: Descriptor]
  ) throws(FileError) -> BytePath {
    let folder = RenditionLayout.folder(stage: job.stage, owner: job.owner)
    let name = RenditionLayout.name(
      owner: job.owner, fingerprint: job.fingerprint, rendition: kept.record.name,
      mediaType: kept.record.mediaType)
    let place = try open(folder, touched: &touched)
    // Left by a kill; no row names it.
    try place.removeIfThere(name)
    switch kept.content {
    case .database(let bytes), .file(let bytes): try place.writeDurably(bytes, as: name)
    case .link(let path): try link(path, in: place, as: name, digest: kept.record.digest)
    }
    return folder.appending(name)
  }

  /// Gives a rendition's file a second name, or makes a copy where that can't be.
  private func link(
    _ path: String, in folder: Descriptor, as name: BytePath, digest: Digest
  ) throws(FileError) {
    let old = BytePath(path)
    do throws(FileError) {
      try library.openParent(of: old).link(old.lastComponent, to: folder, as: name)
    } catch {
      // Some file systems have no hard links, and all limit them per file.
      guard [EPERM, EMLINK, EXDEV, EOPNOTSUPP, ENOSYS].contains(error.errno) else { throw error }
      let copy = try Descriptor.open(
        name, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      guard try self.copy(path, to: copy, isStopped: { false }) == digest else {
        throw FileError(.changed, "“\(old.printable)” is damaged.", path: old)
      }
      try copy.sync()
    }
  }

  /// The size of a rendition's file; `nil` if it is missing or no regular file.
  func size(of path: String) -> Int? {
    let path = BytePath(path)
    // Whatever is wrong with it, it is made again.
    guard let folder = try? library.openParent(of: path),
      let status = try? folder.status(of: path.lastComponent), status.kind == .regular
    else { return nil }
    return status.identity.size
  }

  /// Whether a rendition's file has the bytes that it should have.
  func isWhole(_ path: String, digest: Digest) -> Bool {
    let path = BytePath(path)
    // Whatever is wrong with it, it is made again.
    guard let folder = try? library.openParent(of: path),
      let file = try? Descriptor.openRegular(path.lastComponent, in: folder)
    else { return false }
    return (try? file.hash())?.digest == digest
  }

  /// Opens a folder below the library, creating missing parts of its path.
  private func open(
    _ path: BytePath, touched: inout [BytePath: Descriptor]
  ) throws(FileError) -> Descriptor {
    if let open = touched[path] { return open }
    var folder = library
    for part in path.components {
      if try folder.makeFolder(part) { try folder.sync() }
      folder = try Descriptor.openFolder(part, in: folder, followsLinks: false)
    }
    touched[path] = folder
    return folder
  }

  /// Removes a file that no row refers to; a missing file is no error.
  func remove(_ path: String) throws(FileError) { try library.removeIfThere(BytePath(path)) }

  /// Copies a rendition's file into an empty one.
  ///
  /// - Parameter isStopped: called for each mebibyte.
  /// - Returns: the SHA-256 of the bytes in the copy.
  func copy(
    _ path: String, to copy: Descriptor, isStopped: @escaping () -> Bool
  ) throws(FileError) -> Digest {
    let relative = BytePath(path)
    let source = try Descriptor.openRegular(
      relative.lastComponent, in: library.openParent(of: relative))
    return try copy.fill(from: source, isStopped: isStopped)
  }

  // MARK: Moving between database and files

  func write(
    _ bytes: [UInt8], of rendition: MisplacedRendition, stage: String
  ) throws(FileError) -> String {
    var touched: [BytePath: Descriptor] = [:]
    let path = RenditionLayout.folder(stage: stage, owner: rendition.owner)
    let folder = try open(path, touched: &touched)
    let name = RenditionLayout.name(
      owner: rendition.owner, fingerprint: rendition.fingerprint, rendition: rendition.name,
      mediaType: rendition.mediaType)
    try folder.writeDurably(bytes, as: name)
    return path.appending(name).description
  }

  /// Reads a rendition's file for storage in the database.
  func read(_ path: String) throws(FileError) -> [UInt8] {
    let relative = BytePath(path)
    return try Descriptor.openRegular(
      relative.lastComponent, in: library.openParent(of: relative)
    ).readToEnd(limit: Self.greatestInDatabase)
  }
}

/// A rendition that has been read and hashed but is still in its work folder.
struct CollectedRendition: Sendable {
  let rendition: PluginRendition
  let size: Int
  let digest: Digest
  /// The bytes, if they go into the database.
  let bytes: [UInt8]?
  let file: Descriptor
  let folder: Descriptor
  let name: BytePath

  func record(_ content: RenditionContent) -> NewRendition {
    NewRendition(
      name: rendition.name, mediaType: rendition.mediaType, width: rendition.width,
      height: rendition.height, bytes: size, digest: digest, from: rendition.from,
      content: content)
  }
}

extension ClaimedJob {
  /// The start of the job's file names.
  var owner: String { isAssetScoped ? Hexadecimal.encode(asset.bytes) : digest.hex }
}

/// The paths of renditions that are stored as files.
///
/// `renditions/<stage>/ab/<owner>.<fingerprint>.<name>.<extension>`: the owner is the original's
/// digest or, for stages of scope `asset`, the asset's key without dashes; the fingerprint is cut
/// to sixteen digits.
package enum RenditionLayout {
  /// The folder, relative to the library.
  package static func folder(stage: String, owner: String) -> BytePath {
    BytePath("renditions/\(stage)/\(owner.prefix(2))")
  }

  /// The file name.
  package static func name(
    owner: String, fingerprint: Fingerprint, rendition: String, mediaType: String
  ) -> BytePath {
    BytePath("\(owner).\(fingerprint.short).\(rendition).\(MediaType.fileExtension(of: mediaType))")
  }
}
