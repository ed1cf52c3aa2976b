import Catalog
import Configuration
import Files
import Glibc
import Hashing
import PipelineModel
import PipelinePlugin

/// Brings what plugins made into the library: checked, hashed, and durable.
struct RenditionStore: Sendable {
  /// Renditions of up to this many bytes are kept in the database by `auto`.
  ///
  /// See `docs/decisions/0006-rendition-storage.md` for the measurement.
  static let threshold = 64 << 10

  /// What is larger is a file wherever renditions are to be kept: it would be held in memory
  /// as a whole, and SQLite takes no more than 1 GB.
  static let greatestInDatabase = 64 << 20

  private let library: Descriptor

  init(library: BytePath) throws(FileError) {
    self.library = try Descriptor.openFolder(library)
  }

  /// The most bytes that a policy keeps in the database.
  static func threshold(of storage: StageConfiguration.Storage) -> Int {
    switch storage {
    case .database: greatestInDatabase
    case .file: -1
    case .auto: threshold
    }
  }

  /// Reads and checks one file that a plugin made; nothing is durable yet.
  ///
  /// - Parameters:
  ///   - output: the folder that the plugin was given; the file can't be
  ///     anywhere else, whatever its path says.
  ///   - isStopped: asked again and again while a long file is read.
  /// - Throws: `FileError`, of code `stopped` if that is true.
  func collect(
    _ rendition: PluginRendition, from output: Descriptor, for job: ClaimedJob,
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
      throw FileError(.notRegular, "“\(path.printable)” is no plain file.", path: path)
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

  /// Makes sure that nobody can write to a file any more, by a copy where that is not certain.
  ///
  /// Whoever made it can't open it again, as it was moved to where only this program comes, but
  /// may have kept it open.
  private func detached(
    _ file: Descriptor, named name: BytePath, in folder: Descriptor, size: Int,
    isStopped: @escaping () -> Bool
  ) throws(FileError) -> Descriptor {
    if file.takeLease() == .granted {
      file.releaseLease()
      return file
    }
    try folder.remove(name)
    let copy = try Descriptor.open(
      name, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    // What grows faster than it is copied is not copied for ever.
    var rest = size >> 20 + 2
    _ = try copy.fill(from: file) {
      rest -= 1
      return rest < 0 || isStopped()
    }
    try copy.seek(to: 0)
    return copy
  }

  /// Makes a group of jobs' renditions durable with one flush of each folder.
  func store(
    _ jobs: [(job: ClaimedJob, renditions: [CollectedRendition])]
  ) throws(FileError) -> [[NewRendition]] {
    var touched: [BytePath: Descriptor] = [:]
    var stored: [[NewRendition]] = []
    for (job, renditions) in jobs {
      var records: [NewRendition] = []
      for rendition in renditions {
        if let bytes = rendition.bytes {
          records.append(rendition.record(.database(bytes)))
        } else {
          let path = try place(rendition, of: job, touched: &touched)
          records.append(rendition.record(.file(path: path.description)))
        }
      }
      stored.append(records)
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
    try rendition.folder.replace(rendition.name, to: place, as: name)
    return folder.appending(name)
  }

  /// Opens a folder below the library, making what is missing of its path.
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

  /// Removes a file that no row refers to any more; one that is gone is no error.
  func remove(_ path: String) throws(FileError) { try library.removeIfThere(BytePath(path)) }

  // MARK: Moving between database and files

  /// Writes bytes from the database to a file.
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

  /// Reads a rendition's file.
  func read(_ path: String) throws(FileError) -> [UInt8] {
    let relative = BytePath(path)
    return try Descriptor.openRegular(
      relative.lastComponent, in: library.openParent(of: relative)
    ).readToEnd(limit: 1 << 30)
  }
}

/// A rendition that was read and hashed, and is still in its working folder.
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
  /// What the names of the job's files begin with.
  var owner: String { isAssetScoped ? Hexadecimal.encode(asset.bytes) : digest.hex }
}
