import Files
import Glibc
import Manifest
import Originals
import PipelineModel

extension LibraryFolder {
  /// Opens one of the library's folders, even if the library's path leads elsewhere by now.
  func openPart(_ path: BytePath) throws(FileError) -> Descriptor {
    try Descriptor.openFolder(path.lastComponent, in: folder, followsLinks: false)
  }

  func openOriginals() throws(FileError) -> FolderStore {
    try FolderStore(
      in: folder, originals: layout.originals.lastComponent,
      damaged: layout.damaged.lastComponent)
  }

  func openManifest() throws -> Manifest { try Manifest(in: openPart(layout.manifest)) }

  /// Creates missing folders of a locked library, and refuses anything in the place of one that is
  /// not the library's own.
  ///
  /// A backup need not have the folders that can be refilled. A link would redirect the program's
  /// own writes and removals out of the library.
  ///
  /// - Throws: `IngestError` of code `notALibrary`; nothing was created then.
  func prepareFolders() throws(IngestError) {
    let names = (LibraryLayout.folders + LibraryLayout.occasionalFolders).map { BytePath($0) }
    var missing: [BytePath] = []
    for name in names where try !hasFolder(name) { missing.append(name) }
    for name in LibraryLayout.lastingFolders.map({ BytePath($0) }) where missing.contains(name) {
      try requireNew(without: name)
    }
    let refillable = missing.filter { !LibraryLayout.occasionalFolders.contains($0.description) }
    guard !refillable.isEmpty else { return }
    try translating {
      for name in refillable { try folder.makeFolder(name, mode: 0o700) }
      try folder.sync()
    }
  }

  private func hasFolder(_ name: BytePath) throws(IngestError) -> Bool {
    let path = layout.root.appending(name)
    guard let status = try translating({ try folder.statusIfThere(of: name) }) else { return false }
    guard status.kind == .folder else {
      let what = status.kind == .link ? "a symbolic link" : "not a folder"
      throw IngestError(
        .notALibrary,
        "“\(path.printable)” is \(what); nothing was done, since the program writes and removes "
          + "files there. Put the library's own folder in its place.", path: path)
    }
    try Self.requireOwn(translating { try openPart(name) }, "The library's folder")
    return true
  }

  /// Refuses a folder that other users could put files into.
  static func requireOwn(_ folder: Descriptor, _ what: String) throws(IngestError) {
    do throws(FileError) {
      try folder.requireOwn(what)
    } catch let error where error.code == .untrusted {
      throw IngestError(
        .notALibrary, error.message + " Nothing was done.", path: error.path, cause: error)
    } catch {
      throw IngestError(error)
    }
  }

  /// Refuses a used library that lacks a folder with irreplaceable content.
  private func requireNew(without name: BytePath) throws(IngestError) {
    let isNew = try translating {
      try LibraryLayout.lastingFolders.allSatisfy { try isEmpty(BytePath($0)) }
        && isMissing(layout.catalog)
    }
    guard !isNew else { return }
    let path = layout.root.appending(name)
    throw IngestError(
      .notALibrary,
      "“\(path.printable)” is missing, and its contents can't be made again; nothing was done. If "
        + "it is on a disk that is not mounted, mount it; otherwise put it back from a backup. If "
        + "it is lost, make an empty folder there: `pipeline verify` then reports what is gone.",
      path: path)
  }

  private func isEmpty(_ name: BytePath) throws(FileError) -> Bool {
    guard try folder.statusIfThere(of: name) != nil else { return true }
    return try Descriptor.openFolder(name, in: folder, followsLinks: false).entries().isEmpty
  }

  private func isMissing(_ path: BytePath) throws(FileError) -> Bool {
    try Descriptor.openFolder(path.parent).statusIfThere(of: path.lastComponent) == nil
  }
}
