import Files
import Glibc
import PipelineModel

/// The folder to export to: makes folders and files in it, and replaces nothing.
///
/// Files are written in `.pipeline-export` and renamed, so what a killed export left is there.
struct ExportFolder {
  /// Where files are written before they get their names.
  static let staging = BytePath(".pipeline-export")
  /// Names that exported files don't get.
  private static let ownNames = [staging, ChecksumList.name]
  /// The most folders that are kept open.
  private static let mostOpen = 256

  let root: Descriptor
  let staging: Descriptor
  /// Folders that nothing is exported into.
  private let excluded: [FileStatus]
  private var open: [BytePath: Descriptor] = [:]
  /// Folders with new names in them that may not be durable.
  private var touched: [BytePath: Descriptor] = [:]

  /// Makes the folder if it is missing, and locks it.
  ///
  /// - Parameters:
  ///   - path: an absolute path.
  ///   - excluded: the library's folders and the sources.
  /// - Throws: `ExportError` of code `destination`, or `locked` if another process exports to it.
  init(_ path: BytePath, excluding excluded: [FileStatus]) throws(ExportError) {
    self.excluded = excluded
    do throws(FileError) {
      root = try Self.make(path)
      guard root.lockFolderIfFree() else {
        throw FileError(.busy, "Another export writes to “\(path.printable)”.", path: path)
      }
      try root.makeFolder(Self.staging)
      staging = try Descriptor.openFolder(Self.staging, in: root, followsLinks: false)
      // Nobody else writes here now, so these are from an export that was killed.
      for entry in try staging.entries() where Self.isTemporary(entry.name) {
        try staging.remove(entry.name)
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
    if try parent.makeFolder(path.lastComponent, mode: 0o777) { try parent.sync() }
    return try Descriptor.openFolder(path.lastComponent, in: parent)
  }

  static func temporaryName(_ number: Int) -> BytePath { BytePath("\(number)") }

  private static func isTemporary(_ name: BytePath) -> Bool {
    !name.isEmpty && name.bytes.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  }

  /// Whether an exported file may have this path.
  static func isFree(_ path: BytePath) -> Bool {
    // A file system may not distinguish case.
    let first = (path.components.first ?? path).description.lowercased()
    return !ownNames.contains { $0.description.lowercased() == first }
  }

  /// Renames a staged file to its path, making folders.
  ///
  /// - Throws: `FileError` of code `exists` if there is a file.
  mutating func place(_ temporary: BytePath, at path: BytePath) throws(FileError) {
    let folder = try folder(path.parent)
    try staging.rename(temporary, to: folder, as: path.lastComponent)
    touched[path.parent] = folder
  }

  private mutating func folder(_ path: BytePath) throws(FileError) -> Descriptor {
    if let folder = open[path] { return folder }
    guard !path.isEmpty else { return root }
    let parent = try folder(path.parent)
    if try parent.makeFolder(path.lastComponent, mode: 0o777) { touched[path.parent] = parent }
    let folder = try Descriptor.openFolder(path.lastComponent, in: parent, followsLinks: false)
    let status = try folder.status()
    if excluded.contains(where: { $0.isSameNode(as: status) }) {
      throw FileError(
        .other, "“\(folder.path.printable)” belongs to the library or is one of its sources.",
        path: folder.path)
    }
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
    // Clean-up: an empty folder harms nobody.
    try? root.removeFolder(Self.staging)
  }
}
