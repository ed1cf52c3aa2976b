import PipelineModel

/// Decodes a configuration from JSON and records all problems.
///
/// It first validates against the schema and then skips rejected values, to check the rest as
/// well. A value that passes the schema but can't be decoded is recorded, too, so that no value
/// is silently replaced by a default.
struct ConfigurationDecoder {
  let document: JSONDocument
  let file: BytePath
  var problems: [ConfigurationError] = []

  init(document: JSONDocument, file: BytePath) {
    self.document = document
    self.file = file
    for duplicate in document.duplicates {
      report(
        .duplicateKey, "The key \(quoted(duplicate.key)) occurs twice.", at: duplicate.pointer)
    }
    problems += OptionSchema(trusted: ConfigurationSchema.value).problems(with: document.value)
  }

  /// Decodes all valid values.
  mutating func configuration() -> PipelineConfiguration {
    let top = Fields<TopKey>(document.value, at: "")
    var configuration = PipelineConfiguration(file: file, library: BytePath(""))
    if let library = path(top[.library]) { configuration.library = library }
    configuration.catalog = path(top[.catalog])
    configuration.plugins = list(top[.plugins]) { $0.path($1) }
    if let budget = size(top[.memoryBudget]) { configuration.memoryBudget = budget }
    if let reserve = size(top[.reserve]) { configuration.reserve = reserve }
    if let rescan = duration(top[.rescan]) { configuration.rescan = rescan }

    let sources = placed(top[.sources]) { $0.source($1) }
    let stages = placed(top[.stages]) { $0.stage($1) }
    configuration.sources = sources.map(\.value)
    configuration.stages = stages.map(\.value)
    checkFolders(of: configuration, sources: sources, stages: stages)
    checkGraph(of: stages)
    return configuration
  }

  /// Returns all problems with their places, in file order.
  func errors(positionsIn bytes: [UInt8]) -> [ConfigurationError] {
    let second = Dictionary(document.duplicates.map { ($0.pointer, $0.offset) }) { first, _ in first
    }
    var placed = problems.map { problem -> (offset: Int, error: ConfigurationError) in
      let pointer = problem.pointer ?? ""
      let known = problem.code == .duplicateKey ? second[pointer] : nil
      return (known ?? document.offsets[pointer] ?? 0, problem)
    }
    // Sorting is not guaranteed to be stable, so compare the original order, too.
    let order = placed.indices.sorted { (placed[$0].offset, $0) < (placed[$1].offset, $1) }
    placed = order.map { placed[$0] }
    // They are in file order, so one pass through the text finds all places.
    var place = TextPosition()
    return placed.map { offset, error in
      place.advance(to: offset, in: bytes)
      var error = error
      error.file = file
      error.line = place.line
      error.column = place.column
      return error
    }
  }

  mutating func report(_ code: ConfigurationError.Code, _ message: String, at pointer: String) {
    problems.append(ConfigurationError(code: code, message: message, pointer: pointer))
  }

  /// Records a problem unless the schema has already found one at the same place.
  mutating func refuse(
    _ field: Field, _ code: ConfigurationError.Code, _ reason: String
  ) {
    let isKnown = problems.contains { $0.pointer == field.pointer && $0.code != .duplicateKey }
    if !isKnown { report(code, reason, at: field.pointer) }
  }
}

struct Field {
  let value: JSONValue
  let pointer: String
  var subject: String { JSONPointer.subject(pointer) }
}

/// The members of an object by typed keys; none if the value is not an object.
struct Fields<Key: RawRepresentable<String>> {
  private let value: JSONValue
  private let pointer: String

  init(_ value: JSONValue, at pointer: String) {
    self.value = value
    self.pointer = pointer
  }

  init(_ field: Field) { self.init(field.value, at: field.pointer) }

  /// The member, or `nil` if it is absent.
  subscript(key: Key) -> Field? {
    value[key.rawValue].map {
      Field(value: $0, pointer: JSONPointer.appending(key.rawValue, to: pointer))
    }
  }
}
