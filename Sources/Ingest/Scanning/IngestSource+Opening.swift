import Configuration
import Files
import PipelineModel

extension IngestSource {
  /// Opens a configured source that may be taken from.
  ///
  /// - Throws: `IngestError` of code `source` if it is missing, inside the
  ///   library, or not what it was.
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

  /// What is said of a source that can't be looked at.
  static func missing(_ configuration: SourceConfiguration, _ error: FileError) -> IngestError {
    IngestError(
      .source,
      "\(error.message) The source is passed over; nothing about its files is changed.",
      path: configuration.path, cause: error)
  }
}
