import Configuration
import Files
import PipelineModel

extension IngestSource {
  /// Opens a configured source to import from.
  ///
  /// - Throws: `IngestError` of code `source` if it is missing, inside a library, or changed.
  static func open(
    _ configuration: SourceConfiguration, for library: IngestLibrary
  ) throws(IngestError) -> IngestSource {
    let mounts = MountGuard(library: library)
    try mounts.checkTable(configuration.path)
    let source: IngestSource
    do throws(FileError) {
      source = try IngestSource(configuration)
    } catch {
      throw missing(configuration, error)
    }
    try library.check(configuration.path, isOutsideFor: "The source")
    try mounts.check(source)
    return source
  }

  /// The error for a source that can't be read.
  static func missing(_ configuration: SourceConfiguration, _ error: FileError) -> IngestError {
    IngestError(
      .source,
      "\(error.message) The source was skipped; its files' records are unchanged.",
      path: configuration.path, cause: error)
  }
}
