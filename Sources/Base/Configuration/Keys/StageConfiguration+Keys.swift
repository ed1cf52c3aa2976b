package import PipelineModel

extension StageConfiguration: ConfigurationObject {
  static let standard = StageConfiguration(name: "", plugin: "")

  static let keys: [ConfigurationKey<StageConfiguration>] = [
    .init(
      "name", \.name, .name,
      "Lowercase letters, digits, dashes and underscores, starting with a letter or digit.",
      isRequired: true),
    .init("plugin", \.plugin, .text(["minLength": 1]), "The ID of the plugin.", isRequired: true),
    .init(
      "needs", \.needs, .list(of: .text(), isDistinct: true),
      "Names of the stages whose facts this one needs."),
    .init(
      "input", \.givenInput, .input,
      "The rendition to work on instead of the original, such as thumbnails/preview; of a list, the "
        + "first that an asset has."),
    .init(
      "accepts", \.accepts, .mediaTypes,
      "The media types to work on, such as image/*, of those that the plugin accepts."),
    .init(
      "concurrency", \.concurrency, .concurrency,
      "How many jobs run at once: a number from 1, or cpus for one per processor."),
    .init("limits", \.limits, .object(["default": [:]]), "What one job may use."),
    .init("timeout", shortFor: "limits.time", \.limits.time, .positiveDuration),
    .init("memory", shortFor: "limits.memory", \.limits.memory, .positiveSize),
    .init("attempts", \.attempts, .count(most: 1000), "How many times a job is tried."),
    .init(
      "isolation", \.isolation, .choice,
      "process: in sandboxed worker processes. none: in the program itself, for trusted "
        + "libraries, which then have all its permissions."),
    .init(
      "storage", \.storage, .choice,
      "Where to store renditions: database, file, or auto: by size, but all in a database of PostgreSQL."
    ),
    .init(
      "allow", \.allow, .object(["default": [:]]),
      "What a plugin in a worker process may do beyond reading its input and writing its output."),
    .init(
      "command", \.command, .command,
      "The program of an executable plugin, alone or with its arguments."),
    .init("options", \.options, .options, "The plugin's own options."),
  ]
}

extension StageConfiguration {
  /// The value of the key `input`; `nil` if the stage works on the original.
  fileprivate var givenInput: [RenditionReference]? {
    get { input.isEmpty ? nil : input }
    set { input = newValue ?? [] }
  }
}

extension StageLimits: ConfigurationObject {
  static let standard = StageLimits()

  static let keys: [ConfigurationKey<StageLimits>] = [
    limit(.time, \.time, .positiveDuration, "Elapsed time. By default 10 minutes."),
    limit(.cpu, \.cpu, .positiveDuration, "Processor time."),
    limit(
      .memory, \.memory, .positiveSize, "Memory. By default the stage's share of memoryBudget."),
    limit(
      .outputBytes, \.outputBytes, .positiveSize,
      "Total bytes of all renditions. By default 1 GiB."),
    limit(.files, \.files, .count(), "Number of files created. By default 10,000."),
    limit(
      .processes, \.processes, .count(),
      "Number of processes. By default 1, or 64 with allow.exec."),
    limit(.inputBytes, \.inputBytes, .positiveSize, "Bytes of the original."),
    limit(.pixels, \.pixels, .count(), "Pixels of the decoded picture."),
    limit(.frames, \.frames, .count(), "Frames or pages of the original."),
  ]

  private static func limit<Value>(
    _ key: LimitKey, _ property: any WritableKeyPath<StageLimits, Value?> & Sendable,
    _ kind: ConfigurationValue<Value>, _ description: String
  ) -> ConfigurationKey<StageLimits> {
    .init(key.rawValue, property, kind, description)
  }

  /// The limits that are set, as in `pipeline.json`.
  package func effective() -> JSONValue { written() }
}

extension StageAllowance: ConfigurationObject {
  static let standard = StageAllowance()

  static let keys: [ConfigurationKey<StageAllowance>] = [
    .init("network", \.network, .flag, "Whether it may use the network."),
    .init("exec", \.exec, .flag, "Whether it may start other programs."),
    .init("read", \.read, .list(of: .path), "Files and folders that it may read."),
    .init("write", \.write, .list(of: .path), "Files and folders that it may write."),
  ]
}

extension ConfigurationValue where Value == String {
  /// A name that can be that of a folder.
  fileprivate static var name: Self {
    .text([
      "pattern": "^[a-z0-9][a-z0-9_-]*$", "maxLength": 64,
      "x-expected":
        "lowercase letters, digits, dashes and underscores, starting with a letter or digit",
    ])
  }
}

extension ConfigurationValue where Value == Int {
  /// A number of jobs, or `cpus`, the default.
  fileprivate static var concurrency: Self {
    ConfigurationValue(
      [
        "type": ["integer", "string"], "minimum": 1,
        "maximum": .integer(StageConfiguration.greatestConcurrency), "pattern": "^cpus$",
        "x-expected": "a number or “cpus”", "default": "cpus",
      ],
      write: { .integer($0) },
      parse: { $0 == "cpus" ? StageConfiguration.standard.concurrency : $0.integer })
  }
}

extension ConfigurationValue where Value == JSONValue {
  /// An object that the program doesn't read.
  fileprivate static var options: Self {
    ConfigurationValue(["type": "object"], write: { $0 }, parse: { $0.object == nil ? nil : $0 })
  }
}

extension ConfigurationValue where Value == [RenditionReference] {
  /// A rendition, or a list of alternatives.
  fileprivate static var input: Self {
    let name: [String: JSONValue] = [
      "pattern": "^[a-z0-9][a-z0-9_-]{0,63}/[A-Za-z0-9_-]{1,64}$",
      "x-expected": "a stage and its rendition, such as thumbnails/preview",
    ]
    return ConfigurationValue(
      schema: [
        "type": ["string", "array"], "uniqueItems": true, "minItems": 1, "maxItems": 32,
        "items": .object(name.merging(["type": "string"]) { $1 }),
      ].merging(name) { $1 },
      read: { field, _ throws(ConfigurationError) in
        try (field.value.array ?? [field.value]).map { value throws(ConfigurationError) in
          guard let reference = value.string.flatMap({ RenditionReference($0) }) else {
            throw field.error(.badValue, "must be a stage and its rendition")
          }
          return reference
        }
      },
      write: { .array($0.map { .string($0.description) }) })
  }
}

extension ConfigurationValue where Value == [String] {
  /// Media types or patterns such as `image/*`.
  fileprivate static var mediaTypes: Self {
    let word = "[A-Za-z0-9][A-Za-z0-9!#&_.+-]*"
    return ConfigurationValue(
      schema: [
        "type": "array", "minItems": 1, "maxItems": 1000, "uniqueItems": true,
        "items": [
          "type": "string", "maxLength": 128,
          "pattern": .string("^(\(word)/(\(word)|\\*)|\\*/\\*)$"),
          "x-expected": "a media type, such as image/jpeg or image/*",
        ],
      ],
      read: { field, _ throws(ConfigurationError) in
        (field.value.array ?? []).compactMap { $0.string?.lowercased() }
      },
      write: { .array($0.map { .string($0) }) })
  }

  /// A program and its arguments; a program with a slash is a path.
  fileprivate static var command: Self {
    ConfigurationValue(
      schema: [
        "type": ["string", "array"], "minLength": 1, "minItems": 1, "items": ["type": "string"],
      ],
      read: { field, decoder throws(ConfigurationError) in
        var words = (field.value.array ?? [field.value]).compactMap(\.string)
        guard !words.contains(where: { $0.utf8.contains(0) }) else {
          throw field.error(.badPath, "contains a NUL character, which arguments can't")
        }
        guard let program = words.first, !program.isEmpty else {
          throw field.error(.badPath, "begins with an empty string instead of a program")
        }
        if program.utf8.contains(UInt8(ascii: "/")) {
          try field.requireExpanded(program)
          words[0] = decoder.file.parent.appending(program).normalized.description
        }
        return words
      },
      write: { .array($0.map { .string($0) }) })
  }
}
