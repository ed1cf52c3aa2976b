import PipelineModel

extension ConfigurationSchema {
  /// Where the defaults come from. `/` stands for what has none.
  private static let standard = PipelineConfiguration(file: BytePath("/"), library: BytePath("/"))
  private static let standardSource = SourceConfiguration(path: BytePath("/"))
  private static let standardStage = StageConfiguration(name: "", plugin: "")

  /// The schema of a key at the top.
  static func top(_ key: TopKey) -> JSONValue {
    switch key {
    case .schema:
      described("The JSON Schema of this file, for editors; not read.", ["type": "string"])
    case .library:
      reference("path", "The folder that holds manifest, catalog, originals and renditions.")
    case .catalog:
      reference(
        "path", "A folder on a local file system for the catalog, where the library is on none.")
    case .sources:
      described(
        "The folders whose files are taken.", default: [],
        ["type": "array", "items": .object(source)])
    case .plugins:
      list(of: "path", "Folders with plugins, searched in this order before the standard ones.")
    case .memoryBudget:
      // No default: it depends on the machine.
      reference(
        "positiveSize",
        "What running jobs may need together. By default half of the machine's memory.")
    case .reserve:
      // No default: it depends on the file system.
      reference(
        "size",
        "Free space that is always left. By default 256 MiB, or a hundredth of the file system "
          + "where that is less.")
    case .rescan:
      reference(
        "positiveDuration", "How often watch looks through all sources on its own.",
        default: .string(standard.rescan.description))
    case .stages:
      described(
        "The work that is done on every asset, in any order that respects needs.", default: [],
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
        "Whether folders inside are looked into.", default: .bool(standardSource.recursive),
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
        of: "glob", "Patterns of files to take.",
        default: .array(standardSource.include.map { .string($0.pattern.description) }))
    case .exclude:
      list(of: "glob", "Patterns of files and folders to leave, beside the built-in ignores.")
    case .duplicates:
      choice(
        "What to do with content that is stored already.", default: standardSource.duplicates)
    case .take:
      choice(
        "auto: by rename where that is safe, else by reflink, else by copy. copy: always by copy.",
        default: standardSource.take)
    case .emptyFolders:
      choice(
        "What becomes of folders that were emptied.", default: standardSource.emptyFolders)
    case .maxMissing:
      described(
        "The share of known files that may be missing at once; beyond it a run asks. Up to 20 "
          + "files may always be.",
        default: .number(standardSource.maxMissing),
        ["type": "number", "minimum": 0, "maximum": 1])
    }
  }

  private static let stage = object(StageKey.self, required: [.name, .plugin], title: "Stage") {
    key -> JSONValue in
    switch key {
    case .name:
      described(
        "Small letters, digits, dashes and underscores; a letter or digit first.",
        [
          "type": "string", "pattern": "^[a-z0-9][a-z0-9_-]*$", "maxLength": 64,
          "x-expected": "small letters, digits, dashes and underscores, a letter or digit first",
        ])
    case .plugin: described("The id of the plugin.", ["type": "string", "minLength": 1])
    case .needs:
      described(
        "Names of the stages whose facts this one needs.", default: [],
        ["type": "array", "items": ["type": "string"], "uniqueItems": true])
    case .concurrency:
      described(
        "How many jobs run at once: a number from 1, or cpus for one a processor.",
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
        "How often a job is tried.", default: .integer(standardStage.attempts),
        ["type": "integer", "minimum": 1, "maximum": 1000])
    case .isolation:
      choice(
        "process: in worker processes, behind a sandbox. none: in the program itself, for libraries "
          + "that are trusted with all it may do.",
        default: standardStage.isolation)
    case .storage:
      choice(
        "Where bytes of renditions are kept: database, file, or auto by size.",
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
    case .time: reference("positiveDuration", "Time by the clock. By default 10 minutes.")
    case .cpu: reference("positiveDuration", "Time on processors.")
    case .memory: reference("positiveSize", "Memory. By default the stage's share of memoryBudget.")
    case .outputBytes:
      reference("positiveSize", "Bytes of all renditions together. By default 1 GiB.")
    case .inputBytes: reference("positiveSize", "Bytes of the original.")
    case .files: described("Number of files made. By default 10,000.", count)
    case .processes: described("Number of processes. By default 1, and 64 with allow.exec.", count)
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
