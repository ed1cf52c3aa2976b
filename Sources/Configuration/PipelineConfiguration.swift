package import PipelineModel

/// The contents of `pipeline.json`, decoded, validated and completed by defaults.
package struct PipelineConfiguration: Sendable, Hashable {
  /// The configuration file, as an absolute path.
  package var file: BytePath
  /// The folder of the file, the base of its relative paths.
  package var folder: BytePath
  /// The library, absolute and normalized.
  package var library: BytePath
  /// A folder for the catalog on a local file system, or `nil` (default) for the library itself.
  package var catalog: BytePath?
  /// The watched folders; none by default.
  package var sources: [SourceConfiguration]
  /// Plugin folders, searched in this order before the standard ones; none by default.
  package var plugins: [BytePath]
  /// The memory for all running jobs together; by default half of the machine's memory.
  package var memoryBudget: ByteSize
  /// The space always left free on the library's file system; by default (`nil`) 256 MiB or 1 % of
  /// the file system, whichever is less: enough for the manifest, the catalog and a recovery.
  package var reserve: ByteSize?
  /// The interval at which `watch` rescans all sources; by default five minutes.
  package var rescan: TimeSpan
  /// The stages in file order; none by default.
  package var stages: [StageConfiguration]

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
    catalog = nil
    sources = []
    plugins = []
    memoryBudget = Self.standardMemoryBudget
    reserve = nil
    rescan = TimeSpan(milliseconds: 300_000)
    stages = []
  }
}
