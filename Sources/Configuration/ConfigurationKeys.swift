// The decoder, the schema and the effective configuration share these tables, so that
// they all know the same keys.

/// The keys of `pipeline.json`.
enum TopKey: String, CaseIterable {
  case schema = "$schema"
  case library, catalog, sources, plugins, memoryBudget, reserve, rescan, stages
}

/// The keys of a source.
enum SourceKey: String, CaseIterable {
  case path, mode, recursive, settle, complete, include, exclude, duplicates, take, emptyFolders
  case maxMissing
}

/// The keys of a stage.
enum StageKey: String, CaseIterable {
  case name, plugin, needs, concurrency, timeout, memory, limits, attempts, isolation, storage
  case allow, command, options
}

/// The keys of a stage's limits.
package enum LimitKey: String, CaseIterable {
  case time, cpu, memory, outputBytes, files, processes, inputBytes, pixels, frames
}

/// The keys of a stage's `allow`.
enum AllowKey: String, CaseIterable {
  case network, exec, read, write
}
