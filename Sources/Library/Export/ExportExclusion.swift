import Files
import Glibc
import Ingest
import PipelineModel

/// Keeps exports away from libraries, and from sources, which would import what is exported.
struct ExportExclusion {
  private let libraries: LibraryExclusion
  private let sources: LibraryExclusion
  /// The sources by path: one may be missing, such as that of an unplugged disk.
  private let sourcePaths: [BytePath]

  /// - Parameter sources: the folders that the library imports from.
  init(_ library: LibraryFolder, sources: [BytePath]) throws(FileError) {
    var own = [library.folder]
    // Its folders may be mounted elsewhere by themselves.
    for part in [library.layout.catalogFolder] + library.layout.parts {
      if let folder = try Self.open(part) { own.append(folder) }
    }
    libraries = try LibraryExclusion(own)
    var folders: [Descriptor] = []
    for source in sources {
      if let folder = try Self.open(source) { folders.append(folder) }
    }
    self.sources = try LibraryExclusion(folders, keepsOffOthers: false)
    sourcePaths = sources.map(Self.resolved)
  }

  /// Opens a folder that need not be readable; `nil` if it is missing or out of reach.
  private static func open(_ path: BytePath) throws(FileError) -> Descriptor? {
    do throws(FileError) {
      return try Descriptor.openFolderPlace(path)
    } catch let error where [.notFound, .permission].contains(error.code) {
      return nil
    }
  }

  /// - Parameter destination: an absolute path, which need not exist.
  /// - Throws: `ExportError` of code `destination` if it is one of these folders or within one.
  func check(_ destination: BytePath) throws(ExportError) {
    let path = Self.resolved(destination)
    let library: BytePath?
    var source: BytePath?
    do throws(FileError) {
      library = try libraries.folder(around: path)
      source = try sources.folder(around: path)
    } catch {
      throw ExportError(.destination, error.message, path: error.path)
    }
    if let library {
      throw ExportError(
        .destination,
        "“\(destination.printable)” is in the library “\(library.printable)”, which contains only what "
          + "the program keeps there: export to another folder.", path: destination)
    }
    source = source ?? sourcePaths.first { $0 == path || path.relative(to: $0) != nil }
    if let source {
      throw ExportError(
        .destination,
        "“\(destination.printable)” is in the source “\(source.printable)”, from which the next run would "
          + "import what is exported: export to another folder.", path: destination)
    }
  }

  /// - Throws: `FileError` if a folder is a library or a source.
  func check(folder: Descriptor) throws(FileError) {
    let isLibrary = try libraries.contains(folder)
    let isSource = try sources.contains(folder)
    if isLibrary || isSource {
      throw FileError(
        .other,
        "“\(folder.path.printable)” belongs to a library or is a source of this one; nothing is "
          + "exported into it.", path: folder.path)
    }
  }

  /// Checks the folders of a path as far as they exist.
  ///
  /// - Throws: `FileError` if one is a library, a source, a link or no folder.
  func check(_ path: BytePath, below root: Descriptor) throws(FileError) {
    var folder = root
    for part in path.components.dropLast() {
      do throws(FileError) {
        folder = try Descriptor.openFolder(part, in: folder, followsLinks: false)
      } catch let error where error.errno == ENOENT {
        return
      }
      try check(folder: folder)
    }
  }

  /// The path without links in that part of it which exists.
  private static func resolved(_ path: BytePath) -> BytePath {
    // What can't be resolved can't be opened either, which reports the error.
    if let real = try? FileSystem.realPath(of: path) { return real }
    return path == "/" ? path : resolved(path.parent).appending(path.lastComponent)
  }
}
