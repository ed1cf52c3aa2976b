import PipelineModel

extension ConfigurationSchema {
  /// The source of the defaults; `/` is a placeholder for paths without one.
  private static let standard = PipelineConfiguration(file: BytePath("/"), library: BytePath("/"))
  private static let standardSource = SourceConfiguration(path: BytePath("/"))
  private static let standardStage = StageConfiguration(name: "", plugin: "")

  static func top(_ key: TopKey) -> JSONValue {
    switch key {
    case .schema:
      described("The JSON Schema of this file, for editors; not read.", ["type": "string"])
    case .library:
      reference("path", "The folder that holds manifest, catalog, originals and renditions.")
    case .catalog:
      reference(
        "path", "A folder for the catalog on a local file system, if the library is not on one.")
    case .sources:
      described(
        "The folders whose files are ingested.", default: [],
        ["type": "array", "items": .object(source)])
    case .plugins:
      list(of: "path", "Plugin folders, searched in this order before the standard ones.")
    case .memoryBudget:
      // No default: it depends on the machine.
      reference(
        "positiveSize",
        "The memory for all running jobs together. By default half of the machine's memory.")
    case .reserve:
      // No default: it depends on the file system.
      reference(
        "size",
        "Space that is always left free. By default 256 MiB or 1 % of the file system, whichever "
          + "is less.")
    case .rescan:
      reference(
        "positiveDuration", "The interval at which watch rescans all sources.",
        default: .string(standard.rescan.description))
    case .stages:
      described(
        "The work done on every asset, in any order that respects needs.", default: [],
        ["type": "array", "items": .object(stage)])
    }
  }

  private static let source = object(SourceKey.self, required: [.path], title: "Source") {
    key -> JSONValue in
    switch key {
    case .path: reference("path", "The folder.")
    case .mode:
      choice(
        "move: the file is removed once its bytes are safe. copy: it stays.",
        default: standardSource.mode)
    case .recursive:
      described(
        "Whether to scan subfolders.", default: .bool(standardSource.recursive),
        ["type": "boolean"])
    case .settle:
      reference(
        "duration", "How long a file must be quiet before it counts as complete.",
        default: .string(standardSource.settle.description))
    case .complete:
      choice(
        "quiet: after a quiet settle window without writers. close: at once after a close.",
        default: standardSource.complete)
    case .include:
      list(
        of: "glob", "Patterns of files to ingest.",
        default: .array(standardSource.include.map { .string($0.pattern.description) }))
    case .exclude:
      list(of: "glob", "Patterns of files and folders to ignore, in addition to the built-in ones.")
    case .duplicates:
      choice(
        "What to do with content that is already stored.", default: standardSource.duplicates)
    case .take:
      choice(
        "auto: by rename if that is safe, otherwise by reflink or copy. copy: always by copy.",
        default: standardSource.take)
    case .emptyFolders:
      choice(
        "What to do with folders that pipeline emptied.", default: standardSource.emptyFolders)
    case .maxMissing:
      described(
        "The share of known files that may be missing at once; if more are, a run asks. Up to 20 "
          + "files may always be missing.",
        default: .number(standardSource.maxMissing),
        ["type": "number", "minimum": 0, "maximum": 1])
    }
  }

  private static let stage = object(StageKey.self, required: [.name, .plugin], title: "Stage") {
    key -> JSONValue in
    switch key {
    case .name:
      described(
        "Lowercase letters, digits, dashes and underscores, starting with a letter or digit.",
        [
          "type": "string", "pattern": "^[a-z0-9][a-z0-9_-]*$", "maxLength": 64,
          "x-expected":
            "lowercase letters, digits, dashes and underscores, starting with a letter or digit",
        ])
    case .plugin: described("The ID of the plugin.", ["type": "string", "minLength": 1])
    case .needs:
      described(
        "Names of the stages whose facts this one needs.", default: [],
        ["type": "array", "items": ["type": "string"], "uniqueItems": true])
    case .concurrency:
      described(
        "How many jobs run at once: a number from 1, or cpus for one per processor.",
        default: "cpus",
        [
          "type": ["integer", "string"], "minimum": 1,
          "maximum": .integer(StageConfiguration.greatestConcurrency), "pattern": "^cpus$",
          "x-expected": "a number or “cpus”",
        ])
    case .timeout: reference("positiveDuration", "Short for limits.time.")
    case .memory: reference("positiveSize", "Short for limits.memory.")
    case .limits:
      described("What one job may use.", default: [:], object(LimitKey.self, property: limit))
    case .attempts:
      described(
        "How many times a job is tried.", default: .integer(standardStage.attempts),
        ["type": "integer", "minimum": 1, "maximum": 1000])
    case .isolation:
      choice(
        "process: in sandboxed worker processes. none: in the program itself, for trusted "
          + "libraries, which then have all its permissions.",
        default: standardStage.isolation)
    case .storage:
      choice(
        "Where to store renditions: database, file, or auto to decide by size.",
        default: standardStage.storage)
    case .allow:
      described(
        "What a plugin in a worker process may do beyond reading its input and writing its output.",
        default: [:],
        object(AllowKey.self, property: allowance))
    case .command:
      described(
        "The program of an executable plugin, alone or with its arguments.",
        [
          "type": ["string", "array"], "minLength": 1, "minItems": 1,
          "items": ["type": "string"],
        ])
    case .options:
      described("The plugin's own options.", default: [:], ["type": "object"])
    }
  }

  private static func limit(_ key: LimitKey) -> JSONValue {
    let count: [String: JSONValue] = ["type": "integer", "minimum": 1]
    return switch key {
    case .time: reference("positiveDuration", "Elapsed time. By default 10 minutes.")
    case .cpu: reference("positiveDuration", "Processor time.")
    case .memory: reference("positiveSize", "Memory. By default the stage's share of memoryBudget.")
    case .outputBytes:
      reference("positiveSize", "Total bytes of all renditions. By default 1 GiB.")
    case .inputBytes: reference("positiveSize", "Bytes of the original.")
    case .files: described("Number of files created. By default 10,000.", count)
    case .processes: described("Number of processes. By default 1, or 64 with allow.exec.", count)
    case .pixels: described("Pixels of the decoded picture.", count)
    case .frames: described("Frames or pages of the original.", count)
    }
  }

  private static func allowance(_ key: AllowKey) -> JSONValue {
    switch key {
    case .network:
      described("Whether it may use the network.", default: false, ["type": "boolean"])
    case .exec:
      described("Whether it may start other programs.", default: false, ["type": "boolean"])
    case .read: list(of: "path", "Files and folders that it may read.")
    case .write: list(of: "path", "Files and folders that it may write.")
    }
  }
}
