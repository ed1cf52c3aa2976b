import Files
import Ingest
import PipelineModel

/// Keeps exports away from libraries, and from sources, which would import what is exported.
struct ExportExclusion {
  private let libraries: LibraryExclusion
  private let sources: LibraryExclusion

  /// - Parameter sources: the folders that the library imports from; some may be missing.
  init(_ library: LibraryFolder, sources: [BytePath]) throws(FileError) {
    libraries = try LibraryExclusion([library.folder])
    var folders: [Descriptor] = []
    for source in sources {
      let found = try ifThere { () throws(FileError) in try Descriptor.openFolder(source) }
      if let found { folders.append(found) }
    }
    self.sources = try LibraryExclusion(folders, keepsOffOthers: false)
  }

  /// The folders themselves, wherever they are mounted.
  var folders: [FileStatus] { libraries.own + sources.own }

  /// - Parameter destination: an absolute path, which need not exist.
  /// - Throws: `ExportError` of code `destination` if it is one of these folders or within one.
  func check(_ destination: BytePath) throws {
    let path = Self.resolved(destination)
    if let library = try libraries.folder(around: path) {
      throw ExportError(
        .destination,
        "“\(destination.printable)” is in the library “\(library.printable)”, which contains only what "
          + "the program keeps there: export to another folder.", path: destination)
    }
    if let source = try sources.folder(around: path) {
      throw ExportError(
        .destination,
        "“\(destination.printable)” is in the source “\(source.printable)”, from which the next run would "
          + "import what is exported: export to another folder.", path: destination)
    }
  }

  /// The path without links in that part of it which exists.
  private static func resolved(_ path: BytePath) -> BytePath {
    if let real = try? FileSystem.realPath(of: path) { return real }
    return path == "/" ? path : resolved(path.parent).appending(path.lastComponent)
  }
}
