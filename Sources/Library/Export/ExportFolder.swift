import Files
import Glibc
import PipelineModel

/// The folder to export to: makes folders and files in it, and replaces no file of others.
///
/// Files are written in `.pipeline-export` and renamed.
struct ExportFolder {
  /// Where files are written before they get their names.
  static let staging = BytePath(".pipeline-export")
  /// The most folders that are kept open.
  private static let mostOpen = 256

  let root: Descriptor
  let staging: Descriptor
  private let exclusion: ExportExclusion
  /// Tells this export's staged files from those of another machine, where locks don't reach.
  private let mark = UInt64.random(in: 0 ... .max)
  private var count = 0
  private var open: [BytePath: Descriptor] = [:]
  /// Folders with names in them that may not be durable.
  private var touched: [BytePath: Descriptor] = [:]

  /// Makes the folder if it is missing, and locks it.
  ///
  /// - Parameter path: an absolute path.
  /// - Throws: `ExportError` of code `destination`, or `locked` if another process exports to it.
  init(_ path: BytePath, excluding exclusion: ExportExclusion) throws(ExportError) {
    self.exclusion = exclusion
    do throws(FileError) {
      root = try Self.make(path)
      try exclusion.check(folder: root)
      guard let isLocked = root.lockIfFree() else {
        throw FileError(.busy, "Another export writes to “\(path.printable)”.", path: path)
      }
      try root.makeFolder(Self.staging)
      staging = try Descriptor.openFolder(Self.staging, in: root, followsLinks: false)
      let status = try staging.status()
      let rootStatus = try root.status()
      // A file system without permissions shows the same for all.
      let isLikeRoot =
        status.owner == rootStatus.owner && status.permissions == rootStatus.permissions
      guard isLikeRoot || status.owner == geteuid() && status.permissions & 0o022 == 0 else {
        throw FileError(
          .untrusted,
          "Others may write to “\(staging.path.printable)”, where files are put together: remove it.",
          path: staging.path)
      }
      // Nobody else writes here now, so these are from an export that was killed.
      if isLocked {
        for entry in try staging.entries() where Self.isTemporary(entry.name) {
          try staging.remove(entry.name)
        }
      }
    } catch {
      throw ExportError(
        error.code == .busy ? .locked : .destination, error.message, path: error.path ?? path)
    }
  }

  private static func make(_ path: BytePath) throws(FileError) -> Descriptor {
    let found = try ifThere { () throws(FileError) in try Descriptor.openFolder(path) }
    if let found { return found }
    let parent = try make(path.parent)
    try parent.makeFolder(path.lastComponent, mode: 0o777)
    try parent.sync()
    return try Descriptor.openFolder(path.lastComponent, in: parent)
  }

  /// A name for the next staged file.
  mutating func nextTemporaryName() -> BytePath {
    count += 1
    return BytePath("\(String(mark, radix: 16))-\(count).new")
  }

  private static func isTemporary(_ name: BytePath) -> Bool {
    name == ChecksumList.temporaryName
      || name.description.wholeMatch(of: /[0-9a-f]+-[0-9]+\.new/) != nil
  }

  /// Renames a staged file to its path, making folders.
  ///
  /// - Throws: `FileError` of code `exists` if there is a file.
  mutating func rename(_ temporary: BytePath, to path: BytePath) throws(FileError) {
    let folder = try folder(path.parent)
    do throws(FileError) {
      try staging.rename(temporary, to: folder, as: path.lastComponent)
    } catch let error where error.errno == EINVAL {
      // NFS and many file systems behind a process can't rename without replacing; FAT can't take
      // some names.
      do throws(FileError) {
        try folder.link(staging.path.appending(temporary), as: path.lastComponent)
      } catch let other where other.code != .exists {
        throw FileError(
          .other,
          "The file system of “\(folder.path.printable)” takes no such name, or has no safe way to give "
            + "it to a file (\(String(cString: strerror(error.errno)))).",
          path: folder.path.appending(path.lastComponent))
      }
      try staging.remove(temporary)
    } catch let error where error.errno == EXDEV {
      throw FileError(
        .other,
        "“\(folder.path.printable)” is on another file system than “\(root.path.printable)”: export to it "
          + "by itself.", path: folder.path)
    }
    touched[path.parent] = folder
  }

  /// Renames a staged file to its path, in place of a file that an earlier export wrote.
  mutating func replace(_ temporary: BytePath, at path: BytePath) throws(FileError) {
    let folder = try folder(path.parent)
    try staging.replace(temporary, to: folder, as: path.lastComponent)
    touched[path.parent] = folder
  }

  /// The bytes of a file; `nil` if there is none, or something else, or a larger one.
  func contents(of path: BytePath, atMost most: Int) throws(FileError) -> [UInt8]? {
    try ifThere { () throws(FileError) -> [UInt8]? in
      let folder = try root.openParent(of: path)
      let status = try folder.status(of: path.lastComponent)
      guard status.kind == .regular, status.identity.size <= most else { return nil }
      return try Descriptor.openRegular(path.lastComponent, in: folder).readToEnd()
    } ?? nil
  }

  /// Waits until a file from earlier is on disk, and makes sure that `sync` covers its name.
  mutating func flush(_ path: BytePath) throws(FileError) {
    let folder = try folder(path.parent)
    try Descriptor.openRegular(path.lastComponent, in: folder).sync()
    touched[path.parent] = folder
  }

  private mutating func folder(_ path: BytePath) throws(FileError) -> Descriptor {
    if let folder = open[path] { return folder }
    guard !path.isEmpty else { return root }
    let parent = try folder(path.parent)
    try parent.makeFolder(path.lastComponent, mode: 0o777)
    let folder = try Descriptor.openFolder(path.lastComponent, in: parent, followsLinks: false)
    try exclusion.check(folder: folder)
    // An export that was killed may have made it, too.
    touched[path.parent] = parent
    if open.count == Self.mostOpen { open = [:] }
    open[path] = folder
    return folder
  }

  /// Waits until all new names are on disk.
  mutating func sync() throws(FileError) {
    for folder in touched.values { try folder.sync() }
    touched = [:]
  }

  /// Removes the empty folder of staged files.
  func close() {
    // Clean-up: an empty folder harms nobody, and one with files is for the next export.
    try? root.removeFolder(Self.staging)
  }
}
