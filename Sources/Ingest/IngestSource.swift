package import Configuration
package import Files
package import PipelineModel

/// A source that is open for scanning and importing.
package struct IngestSource: Sendable {
  /// The absolute path; `/` for what was named to `import`.
  package let root: BytePath
  /// The open folder.
  package let folder: Descriptor
  /// Whether files are removed once their bytes are safe.
  package let moves: Bool
  /// Whether files may be imported by rename.
  package let takesByRename: Bool
  /// What happens to content that is already stored.
  package let duplicates: SourceConfiguration.Duplicates
  /// Whether emptied folders are removed.
  package let removesEmptyFolders: Bool

  /// Opens a configured source.
  package init(_ source: SourceConfiguration) throws(FileError) {
    root = source.path
    folder = try Descriptor.openFolder(source.path)
    moves = source.mode == .move
    takesByRename = source.mode == .move && source.take == .auto
    duplicates = source.mode == .copy && source.duplicates == .discard ? .keep : source.duplicates
    removesEmptyFolders = source.mode == .move && source.emptyFolders == .remove
  }

  /// The source of what is named to `import`: nothing is ever removed from it.
  package static func imported() throws(FileError) -> IngestSource {
    var source = SourceConfiguration(path: BytePath("/"))
    source.mode = .copy
    return try IngestSource(source)
  }
}
