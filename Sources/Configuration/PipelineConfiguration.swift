package import PipelineModel

/// What `pipeline.json` says, decoded, validated, and with all defaults filled in.
package struct PipelineConfiguration: Sendable, Hashable {
  /// The configuration file, as an absolute path.
  package var file: BytePath
  /// The folder of the file, which relative paths in it are relative to.
  package var folder: BytePath
  /// The library, absolute and normalized.
  package var library: BytePath
  /// A folder on a local file system for the catalog, or `nil` (default) for the library itself.
  package var catalog: BytePath?
  /// The watched folders; none by default.
  package var sources: [SourceConfiguration]
  /// Folders with plugins, searched in this order before the standard ones; none by default.
  package var plugins: [BytePath]
  /// What running jobs may need together; by default half of the machine's memory.
  package var memoryBudget: ByteSize
  /// Free space that is always left on the library's file system; by default (`nil`) 256 MiB, or
  /// a hundredth of the file system where that is less: enough for the manifest, the catalog and
  /// a recovery to go on working.
  package var reserve: ByteSize?
  /// How often `watch` looks through all sources on its own; by default every five minutes.
  package var rescan: TimeSpan
  /// The stages in the order of the file; none by default.
  package var stages: [StageConfiguration]

  /// The default of `memoryBudget` on this machine.
  package static let standardMemoryBudget = ByteSize(bytes: Machine.physicalMemory / 2)

  /// The memory of a job whose stage has no limit of its own: the stage's share of `memoryBudget`.
  package var memoryShare: ByteSize { Self.memoryShare(of: memoryBudget, stages: stages.count) }

  /// A stage's share of what jobs may need together: as much as each other stage's, but 1 GiB at
  /// least, as one picture may need that, or the whole of a smaller budget.
  package static func memoryShare(of budget: ByteSize, stages: Int) -> ByteSize {
    ByteSize(bytes: max(budget.bytes / max(stages, 1), min(budget.bytes, 1 << 30)))
  }

  /// Makes a configuration of defaults for a file and a library.
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
