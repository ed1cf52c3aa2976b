package import PipelineModel

/// The contents of `pipeline.json`, decoded, validated and completed by defaults.
package struct PipelineConfiguration: Sendable, Hashable {
  /// The configuration file, as an absolute path.
  package var file: BytePath
  /// The folder of the file, the base of its relative paths.
  package var folder: BytePath
  /// The library, absolute and normalized.
  package var library: BytePath
  /// A folder for the catalog on a local file system or a database, or `nil` (default) for the
  /// library itself.
  package var catalog: CatalogLocation?
  /// The bucket that keeps originals; by default (`nil`) the library does, or whatever it was made with.
  package var originals: BucketLocation?
  /// The bucket that keeps renditions that the database does not; by default (`nil`) the library's folder does.
  package var renditions: BucketLocation?
  /// The space for local copies of what is in a bucket.
  package var originalsCache = ByteSize(bytes: 10 << 30)
  /// This machine among several that work on the library.
  package var node = NodeConfiguration()
  /// The watched folders; none by default.
  package var sources: [SourceConfiguration] = []
  /// Plugin folders, searched in this order before the standard ones; none by default.
  package var plugins: [BytePath] = []
  /// The memory for all running jobs together; by default half of the machine's memory.
  package var memoryBudget = Self.standardMemoryBudget
  /// The space always left free on the library's file system; by default (`nil`) 256 MiB or 1 % of
  /// the file system, whichever is less: enough for the manifest, the catalog and a recovery.
  package var reserve: ByteSize?
  /// The interval at which `watch` rescans all sources; by default five minutes.
  package var rescan = TimeSpan(milliseconds: 300_000)
  /// Which files are joined to groups; by default all kinds.
  package var groups = GroupPolicy.standardRules
  /// How pictures are made that somebody asks for.
  package var onDemand = OnDemandConfiguration()
  /// The stages in file order; none by default.
  package var stages: [StageConfiguration] = []

  /// The default of `memoryBudget` on this machine.
  package static let standardMemoryBudget = ByteSize(bytes: Machine.physicalMemory / 2)

  /// The memory limit of jobs whose stage sets none: the stage's share of `memoryBudget`.
  package var memoryShare: ByteSize { Self.memoryShare(of: memoryBudget, stages: stages.count) }

  /// A stage's share of the memory budget: an equal part, but at least 1 GiB, which one picture may
  /// need, or the whole of a smaller budget.
  package static func memoryShare(of budget: ByteSize, stages: Int) -> ByteSize {
    ByteSize(bytes: max(budget.bytes / max(stages, 1), min(budget.bytes, 1 << 30)))
  }

  /// Makes a configuration with default values.
  ///
  /// - Parameters:
  ///   - file: An absolute path.
  ///   - library: An absolute, normalized path.
  package init(file: BytePath, library: BytePath) {
    self.file = file
    folder = file.parent
    self.library = library
  }

  /// Reads, decodes and validates a configuration file.
  ///
  /// - Parameter file: An absolute path.
  /// - Throws: All problems of the file.
  package static func load(file: BytePath) throws(ConfigurationErrors) -> PipelineConfiguration {
    let bytes: [UInt8]
    do {
      bytes = try ConfigurationFile.read(file)
    } catch {
      throw ConfigurationErrors(error)
    }
    return try decode(bytes: bytes, file: file)
  }

  /// Decodes and validates the bytes of a configuration file.
  ///
  /// Plugins and their options are not checked; see `problems(plugins:)`.
  ///
  /// - Parameters:
  ///   - bytes: JSON (RFC 8259) in UTF-8, at most 1 MiB.
  ///   - file: The absolute path of the file.
  /// - Throws: All problems of the file.
  package static func decode(
    bytes: some Sequence<UInt8>, file: BytePath
  ) throws(ConfigurationErrors) -> PipelineConfiguration {
    let bytes = Array(bytes)
    guard bytes.count <= ConfigurationFile.greatestSize else {
      throw ConfigurationErrors(ConfigurationFile.tooLarge(file))
    }
    let document: JSONDocument
    do {
      document = try JSONReader.read(bytes, depth: greatestDepth, recordsPlaces: true)
    } catch {
      var place = TextPosition()
      place.advance(to: error.offset, in: bytes)
      throw ConfigurationErrors(
        ConfigurationError(
          code: code(of: error), message: error.message, file: file, line: place.line,
          column: place.column))
    }
    var decoder = ConfigurationDecoder(document: document, file: file)
    let configuration = decoder.configuration()
    let errors = decoder.errors(positionsIn: bytes)
    if let errors = ConfigurationErrors(errors) { throw errors }
    return configuration
  }

  /// The maximum nesting depth of arrays and objects.
  private static let greatestDepth = 64

  private static func code(of error: JSONError) -> ConfigurationError.Code {
    switch error.code {
    case .syntax: .syntax
    case .tooDeep, .tooMany: .tooLarge
    }
  }
}
