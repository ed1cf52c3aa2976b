package import Files
import Glibc
package import PipelineModel

/// Renditions as files in a folder tree below the library.
package struct RenditionFolder: RenditionStore {
  private let library: Descriptor

  /// - Parameter library: the library's folder, which contains `renditions/`.
  package init(in library: Descriptor) { self.library = library }

  package var place: String { RenditionLayout.root }

  package var isOnServer: Bool { false }

  package var callsAtOnce: Int { 1 }

  package func put(_ renditions: [IncomingRendition]) throws(FileError) -> [String] {
    var folders: [BytePath: Descriptor] = [:]
    var unsynced: [BytePath: Descriptor] = [:]
    // First what can be done twice: a file is moved, so it is there only once.
    for rendition in renditions.filter({ !$0.isMoved }) + renditions.filter(\.isMoved) {
      let path = RenditionLayout.folder(of: rendition.name)
      let folder = if let open = folders[path] { open } else { try makeFolders(path) }
      folders[path] = folder
      let name = RenditionLayout.name(of: rendition.name)
      switch rendition.content {
      case .bytes(let bytes): try folder.writeDurably(bytes, as: name)
      case .file(let file, let source, let sourceName, _):
        unsynced[path] = folder
        try move(file, sourceName, of: source, to: folder, as: name)
      case .stored(let old, let digest):
        unsynced[path] = folder
        try link(old, in: folder, as: name, digest: digest)
      case .copy(let file, let digest):
        unsynced[path] = folder
        try folder.removeIfThere(name)
        try copy(file, to: folder, as: name, digest: digest)
      }
    }
    for folder in unsynced.values { try folder.sync() }
    return renditions.map { RenditionLayout.path(of: $0.name).description }
  }

  /// Opens a folder below the library, creating missing parts of its path.
  private func makeFolders(_ path: BytePath) throws(FileError) -> Descriptor {
    var folder = library
    for part in path.components {
      if try folder.makeFolder(part) { try folder.sync() }
      folder = try Descriptor.openFolder(part, in: folder, followsLinks: false)
    }
    return folder
  }

  private func move(
    _ file: Descriptor, _ name: BytePath, of source: Descriptor, to folder: Descriptor,
    as newName: BytePath
  ) throws(FileError) {
    try file.setPermissions(0o600)
    try file.sync()
    do throws(FileError) {
      try source.replace(name, to: folder, as: newName)
    } catch {
      // A group that could not be stored is stored again.
      guard error.code == .notFound, let there = try folder.statusIfThere(of: newName)?.identity,
        there.isSameFile(as: try file.status().identity)
      else { throw error }
    }
  }

  /// Gives a file a second name, or makes a copy where that can't be.
  private func link(
    _ path: String, in folder: Descriptor, as name: BytePath, digest: Digest
  ) throws(FileError) {
    // Left by a kill; no row names it.
    try folder.removeIfThere(name)
    let old = BytePath(path)
    do throws(FileError) {
      try library.openParent(of: old).link(old.lastComponent, to: folder, as: name)
    } catch {
      // Some file systems have no hard links, and all limit them per file.
      guard [EPERM, EMLINK, EXDEV, EOPNOTSUPP, ENOSYS].contains(error.errno) else { throw error }
      try copy(open(path), to: folder, as: name, digest: digest)
    }
  }

  private func copy(
    _ file: Descriptor, to folder: Descriptor, as name: BytePath, digest: Digest
  ) throws(FileError) {
    let copy = try Descriptor.open(
      name, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    guard try copy.fill(from: file, isStopped: { false }) == digest else {
      throw FileError(.changed, "“\(file.path.printable)” is damaged.", path: file.path)
    }
    try copy.sync()
  }

  package func open(_ path: String, copyOf digest: Digest?) throws(FileError) -> Descriptor {
    let path = BytePath(path)
    return try Descriptor.openRegular(path.lastComponent, in: library.openParent(of: path))
  }

  package func size(of path: String) throws(FileError) -> Int? {
    let path = BytePath(path)
    return try ifThere { () throws(FileError) in
      let status = try library.openParent(of: path).status(of: path.lastComponent)
      guard status.kind == .regular else {
        throw .notRegular(library.path.appending(path), status.kind)
      }
      return status.identity.size
    }
  }

  package func remove(_ path: String) throws(FileError) {
    try library.removeIfThere(BytePath(path))
  }
}

extension IncomingRendition {
  fileprivate var isMoved: Bool {
    if case .file = content { true } else { false }
  }
}

/// The paths of renditions that are stored as files, or as objects of a bucket.
///
/// `renditions/<stage>/ab/<owner>.<fingerprint>.<name>[.<attempt>].<extension>`: the fingerprint is cut to
/// sixteen digits.
package enum RenditionLayout {
  /// The folder of all, relative to the library or a bucket's prefix.
  package static let root = "renditions"

  /// The folder, relative to the library or a bucket's prefix.
  package static func folder(of name: RenditionName) -> BytePath {
    BytePath("\(root)/\(name.stage)/\(name.owner.prefix(2))")
  }

  /// The file name.
  package static func name(of name: RenditionName) -> BytePath {
    let suffix = MediaType.fileExtension(of: name.mediaType)
    let attempt = name.attempt.map { ".\($0)" } ?? ""
    return BytePath("\(name.owner).\(name.fingerprint.short).\(name.rendition)\(attempt).\(suffix)")
  }

  /// Whether a folder in that of a stage is one of those with files.
  package static func isFolderOfOwners(_ name: String) -> Bool {
    name.utf8.count == 2 && Hexadecimal.decode(Array(name.utf8)) != nil
  }

  /// Whether a file in such a folder may be a rendition.
  package static func isName(_ name: String) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count >= 4 && [32, 64].contains(parts[0].utf8.count) && parts[1].utf8.count == 16
      && parts.prefix(2).allSatisfy { Hexadecimal.decode(Array($0.utf8)) != nil }
  }

  package static func path(of name: RenditionName) -> BytePath {
    folder(of: name).appending(self.name(of: name))
  }
}
