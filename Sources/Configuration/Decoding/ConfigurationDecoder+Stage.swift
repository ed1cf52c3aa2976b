import PipelineModel

extension ConfigurationDecoder {
  /// Decodes a stage; returns `nil` if it has no name or no plugin.
  mutating func stage(_ field: Field) -> StageConfiguration? {
    let fields = Fields<StageKey>(field)
    let name = text(fields[.name])
    let plugin = text(fields[.plugin])
    var stage = StageConfiguration(name: name ?? "", plugin: plugin ?? "")
    stage.needs = list(fields[.needs]) { $0.text($1) }
    if let concurrency = concurrency(fields[.concurrency]) { stage.concurrency = concurrency }
    if let limits = fields[.limits] { stage.limits = self.limits(limits) }
    stage.limits.time = merged(
      duration(fields[.timeout]), fields[.timeout], stage.limits.time, with: .time)
    stage.limits.memory = merged(
      size(fields[.memory]), fields[.memory], stage.limits.memory, with: .memory)
    if let attempts = count(fields[.attempts]) { stage.attempts = attempts }
    if let isolation = choice(fields[.isolation], as: StageConfiguration.Isolation.self) {
      stage.isolation = isolation
    }
    if let storage = choice(fields[.storage], as: StageConfiguration.Storage.self) {
      stage.storage = storage
    }
    if let allow = fields[.allow] { stage.allow = allowance(allow) }
    stage.command = command(fields[.command])
    if let options = fields[.options] {
      if options.value.object == nil {
        refuse(options, .wrongType, "\(options.subject) must be an object.")
      }
      stage.options = options.value
    }
    return name == nil || plugin == nil ? nil : stage
  }

  private mutating func concurrency(_ field: Field?) -> Int? {
    field?.value == "cpus" ? nil : count(field)
  }

  /// Merges the short and the long form of a limit; both may be present if they agree.
  private mutating func merged<Limit: Equatable>(
    _ short: Limit?, _ field: Field?, _ long: Limit?, with key: LimitKey
  ) -> Limit? {
    if let short, let long, short != long, let field {
      report(
        .conflict,
        "\(field.subject) is short for “limits.\(key.rawValue)”, but they differ; keep one.",
        at: field.pointer)
    }
    return long ?? short
  }

  private mutating func limits(_ field: Field) -> StageLimits {
    let fields = Fields<LimitKey>(field)
    var limits = StageLimits()
    limits.time = duration(fields[.time])
    limits.cpu = duration(fields[.cpu])
    limits.memory = size(fields[.memory])
    limits.outputBytes = size(fields[.outputBytes])
    limits.files = count(fields[.files])
    limits.processes = count(fields[.processes])
    limits.inputBytes = size(fields[.inputBytes])
    limits.pixels = count(fields[.pixels])
    limits.frames = count(fields[.frames])
    return limits
  }

  private mutating func allowance(_ field: Field) -> StageAllowance {
    let fields = Fields<AllowKey>(field)
    var allowance = StageAllowance()
    if let network = flag(fields[.network]) { allowance.network = network }
    if let exec = flag(fields[.exec]) { allowance.exec = exec }
    allowance.read = list(fields[.read]) { $0.path($1) }
    allowance.write = list(fields[.write]) { $0.path($1) }
    return allowance
  }

  private mutating func command(_ field: Field?) -> [String]? {
    guard let field else { return nil }
    var words =
      field.value.array == nil ? [text(field)].compactMap(\.self) : list(field) { $0.text($1) }
    guard !words.contains(where: { $0.utf8.contains(0) }) else {
      refuse(field, .badPath, "\(field.subject) contains a NUL character, which arguments can't.")
      return nil
    }
    guard let program = words.first else { return nil }
    guard !program.isEmpty else {
      refuse(field, .badPath, "\(field.subject) begins with an empty string instead of a program.")
      return nil
    }
    if program.utf8.contains(UInt8(ascii: "/")) {
      words[0] = file.parent.appending(program).normalized.description
    }
    return words
  }
}
