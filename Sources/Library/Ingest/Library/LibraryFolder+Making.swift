package import Files
package import PipelineModel

extension LibraryFolder {
  /// Opens a library, or makes it if nothing is at its path.
  ///
  /// - Parameters:
  ///   - configuration: the file that names it; a new library is made only on the same file system,
  ///     since otherwise its disk may just not be mounted.
  ///   - mounts: where disks should be mounted, and are.
  package static func openOrMake(
    _ layout: LibraryLayout, configuration: BytePath, mounts: MountTable = MountTable()
  ) throws -> LibraryFolder {
    let parent = try openParent(of: layout)
    if try parent.statusIfThere(of: layout.root.lastComponent) == nil {
      try requireDisk(of: configuration, for: layout, in: parent)
      try requireMounts(mounts, for: layout)
      do {
        if let owner = try PlaceOwner(of: layout) { throw owner.refusal(layout) }
      } catch {
        // Another process may have made the library meanwhile, and be the owner, or about to.
        guard try parent.statusIfThere(of: layout.root.lastComponent) != nil else { throw error }
      }
      try make(layout, in: parent)
    }
    return try open(layout)
  }

  /// Refuses to make a library on another file system than the configuration that names it, as a run would.
  ///
  /// - Parameters:
  ///   - configuration: the file that names it.
  ///   - parent: the folder in which it would be.
  /// - Throws: `FileError` of code `crossDevice`.
  package static func requireDisk(
    of configuration: BytePath, for layout: LibraryLayout, in parent: Descriptor
  ) throws(FileError) {
    let beside = try Descriptor.openFolder(configuration.parent)
    guard try parent.status().device != beside.status().device else { return }
    throw FileError(
      .crossDevice,
      "There is no library at “\(layout.root.printable)”, and it would be on another file "
        + "system than the configuration. If its disk is not mounted, mount it. For a new "
        + "library there run `pipeline init --library \(layout.root.shellWord) --config "
        + "\(configuration.shellWord)`.", path: layout.root)
  }

  /// Makes a library where the user wants it, on any disk.
  ///
  /// - Parameters:
  ///   - marker: what its `library.json` says; by default that it is a new one.
  ///   - fill: puts something into its folder before it gets its name.
  /// - Returns: whether it was made; `false` if a library exists there.
  /// - Throws: `IngestError` of code `notALibrary` if something else is there, and what `fill` throws.
  package static func makeAsAsked(
    _ layout: LibraryLayout, as marker: LibraryMarker? = nil, mounts: MountTable = MountTable(),
    fill: ((Descriptor) throws -> Void)? = nil
  ) throws -> Bool {
    let parent = try openParent(of: layout)
    try requireMounts(mounts, for: layout)
    if let other = try enclosing(layout.root.parent) {
      throw IngestError(
        .notALibrary,
        "“\(layout.root.printable)” would be inside the library “\(other.printable)”; nothing was "
          + "done. Choose a folder outside of it.", path: layout.root)
    }
    guard try parent.statusIfThere(of: layout.root.lastComponent) != nil else {
      return try make(layout, in: parent, as: marker, fill: fill)
    }
    let folder = try Descriptor.openFolder(layout.root)
    if try hasMarker(folder) { return false }
    try makeRoom(for: layout, in: parent, instead: folder)
    return try make(layout, in: parent, as: marker, fill: fill)
  }

  /// Removes an empty folder in the new library's place: the library is made complete under another
  /// name, and a rename never replaces anything.
  private static func makeRoom(
    for layout: LibraryLayout, in parent: Descriptor, instead folder: Descriptor
  ) throws {
    let inside = layout.root.appending("library")
    let names = Set(try folder.entries().map(\.name))
    let isMountPoint = try folder.status().device != parent.status().device
    guard names.isEmpty || names == ["lost+found"] && isMountPoint else {
      throw IngestError(
        .notALibrary,
        "“\(layout.root.printable)” is not a library and not empty; nothing was done. Choose a "
          + "folder that does not exist yet, such as “\(inside.printable)”.", path: layout.root)
    }
    guard !isMountPoint else {
      throw IngestError(
        .notALibrary,
        "“\(layout.root.printable)” is a mount point; nothing was done. Choose a folder on its "
          + "disk, such as “\(inside.printable)”: without the disk it is missing, and never taken "
          + "for an empty library.", path: layout.root)
    }
    do throws(FileError) {
      try parent.removeFolder(layout.root.lastComponent)
    } catch {
      throw IngestError(
        .notALibrary,
        "“\(layout.root.printable)” can't be replaced: \(error.message) Choose a folder in it, such "
          + "as “\(inside.printable)”.", path: layout.root)
    }
  }

  /// The library that a folder is, or is inside of.
  ///
  /// - Parameter path: an absolute path of something that exists.
  static func enclosing(_ path: BytePath) throws(FileError) -> BytePath? {
    var place = try FileSystem.realPath(of: path)
    while true {
      do throws(FileError) {
        if try hasMarker(Descriptor.openFolder(place)) { return place }
      } catch let error where error.code == .permission {
        // A folder that may only be passed through is not a library to work on.
      }
      if place.parent == place { return nil }
      place = place.parent
    }
  }

  private static func hasMarker(_ folder: Descriptor) throws(FileError) -> Bool {
    try folder.statusIfThere(of: LibraryLayout.marker)?.kind == .regular
  }

  private static func openParent(of layout: LibraryLayout) throws(FileError) -> Descriptor {
    let path = layout.root.parent
    do throws(FileError) {
      return try Descriptor.openFolder(path)
    } catch let error where error.code == .notFound {
      throw FileError(
        .notFound,
        "The folder “\(path.printable)” of the library “\(layout.root.lastComponent.printable)” "
          + "does not exist: if it is on a disk, mount that; otherwise make the folder.",
        path: path)
    }
  }

  private static func requireMounts(
    _ mounts: MountTable, for layout: LibraryLayout
  ) throws(FileError) {
    guard let point = try mounts.missingMount(above: layout.root) else { return }
    throw FileError(
      .notFound,
      "There is no library at “\(layout.root.printable)”, and none is made, because no disk is "
        + "mounted at “\(point.printable)”, a mount point in /etc/fstab: mount the disk. If "
        + "the mount point is no longer used, remove it from /etc/fstab.", path: layout.root)
  }

  /// Makes a library under a temporary name and renames it, so that it is complete or absent.
  ///
  /// Only one process at a time makes libraries in a folder; a second one finds the first one's.
  ///
  /// - Returns: whether it was made; `false` if it exists by now.
  @discardableResult
  package static func make(
    _ layout: LibraryLayout, in parent: Descriptor, as marker: LibraryMarker? = nil,
    fill: ((Descriptor) throws -> Void)? = nil
  ) throws -> Bool {
    try parent.lockFolder()
    defer { parent.unlock() }
    let name = layout.root.lastComponent
    guard try parent.statusIfThere(of: name) == nil else { return false }
    // A fixed name, so that the next attempt completes what a kill leaves.
    let temporary = BytePath(
      bytes: Array(".".utf8) + name.bytes + Array((fill == nil ? ".new" : ".restored").utf8))
    // What fills it must find nothing of an attempt before.
    if fill != nil, try parent.statusIfThere(of: temporary) != nil {
      try parent.removeTree(FolderEntry(name: temporary, kind: nil))
    }
    try parent.makeFolder(temporary, mode: 0o700)
    let folder = try Descriptor.openFolder(temporary, in: parent, followsLinks: false)
    for name in LibraryLayout.folders { try folder.makeFolder(BytePath(name)) }
    do {
      try fill?(folder)
    } catch {
      // Clean-up: the first error is the one to report.
      try? parent.removeTree(FolderEntry(name: temporary, kind: .folder))
      throw error
    }
    try write(marker ?? newMarker(layout), to: folder)
    try parent.rename(temporary, to: parent, as: name)
    try parent.sync()
    return true
  }

  private static func newMarker(_ layout: LibraryLayout) -> LibraryMarker {
    let clock = AssetIDGenerator { UInt64(Timestamp.now.microseconds / 1000) }
    return LibraryMarker(library: clock.next().description, bucket: layout.bucket)
  }
}
