import Configuration
import Files
import Glibc
import Hashing
import PipelineModel
import PipelinePlugin
import Records
import Renditions

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

  /// The rendition as the result of its job.
  func new(_ content: RenditionContent) -> NewRendition {
    NewRendition(
      name: rendition.name, mediaType: rendition.mediaType, width: rendition.width,
      height: rendition.height, bytes: size, digest: digest, from: rendition.from,
      content: content)
  }

  /// The rendition on its way to the store; `nil` if it goes into the database.
  func incoming(of job: ClaimedJob, perAttempt: Bool) -> IncomingRendition? {
    guard bytes == nil else { return nil }
    return IncomingRendition(
      name: job.name(of: rendition.name, mediaType: rendition.mediaType, perAttempt: perAttempt),
      content: .file(file, folder: folder, name: name, digest: digest))
  }
}

extension CollectedRendition {
  /// Reads and checks one file that a plugin made; does not make it durable.
  ///
  /// - Parameters:
  ///   - output: the folder that the plugin was given; files elsewhere are refused, whatever their
  ///     path says.
  ///   - mostInDatabase: the size up to which its bytes go into the database.
  ///   - isStopped: called for each mebibyte.
  /// - Throws: `FileError`, of code `stopped` if `isStopped` returns `true`.
  init(
    _ rendition: PluginRendition, from output: Descriptor,
    mostInDatabase: Int, isStopped: @escaping () -> Bool = { false }
  ) throws(FileError) {
    let path = BytePath(rendition.path)
    guard !path.isAbsolute else {
      throw FileError(.link, "“\(path.printable)” is not below the output folder.", path: path)
    }
    let folder = try output.openParent(of: path)
    let name = path.lastComponent
    let file = try Descriptor.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    let status = try file.status()
    guard status.kind == .regular, status.links == 1 else {
      throw FileError(.notRegular, "“\(path.printable)” is not a regular file.", path: path)
    }
    let size = status.identity.size
    guard size > mostInDatabase else {
      let bytes = try file.readToEnd(limit: size)
      self.init(
        rendition: rendition, size: bytes.count, digest: SHA256.digest(of: bytes), bytes: bytes,
        file: file, folder: folder, name: name)
      return
    }
    let own = try Self.detached(file, named: name, in: folder, size: size, isStopped: isStopped)
    let hashed = try own.hash(isStopped: isStopped)
    try own.startWriting()
    self.init(
      rendition: rendition, size: hashed.size, digest: hashed.digest, bytes: nil, file: own,
      folder: folder, name: name)
  }

  /// Returns a file that nobody else can write to: the file itself, or a copy if that is uncertain.
  ///
  /// The file was moved to where only this program has access, so its maker can't reopen it, but
  /// may still have it open.
  private static func detached(
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
}

extension ClaimedJob {
  /// What tells a rendition of the job from all others.
  ///
  /// - Parameter perAttempt: whether it is told from that of another attempt at the job, too.
  func name(of rendition: String, mediaType: String, perAttempt: Bool) -> RenditionName {
    RenditionName(
      stage: stage, owner: isAssetScoped ? Hexadecimal.encode(asset.bytes) : digest.hex,
      fingerprint: fingerprint, rendition: rendition, mediaType: mediaType,
      attempt: perAttempt ? token.rawValue : nil)
  }
}
