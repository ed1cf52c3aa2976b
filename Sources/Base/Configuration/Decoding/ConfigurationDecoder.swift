import PipelineModel

/// Decodes a configuration from JSON and records all problems.
///
/// It first validates against the schema and then skips rejected values, to check the rest as
/// well. A value that passes the schema but can't be used is recorded, too, so that no value
/// is silently replaced by a default.
struct ConfigurationDecoder {
  let document: JSONDocument
  let file: BytePath
  private var problems: [ConfigurationError] = []

  init(document: JSONDocument, file: BytePath) {
    self.document = document
    self.file = file
    for duplicate in document.duplicates {
      report(.duplicateKey, "The key \(quoted(duplicate.key)) occurs twice.", at: duplicate.pointer)
    }
    problems += OptionSchema(trusted: ConfigurationSchema.value).problems(with: document.value)
  }

  /// Decodes all valid values and checks them together.
  mutating func configuration() -> PipelineConfiguration {
    var configuration = PipelineConfiguration(Field(value: document.value, pointer: ""), &self)
    configuration.file = file
    configuration.folder = file.parent
    checkFolders(of: configuration)
    checkGroups(configuration.groups)
    checkGraph(of: configuration.stages)
    return configuration
  }

  /// Reads a value, or records why it can't be used and returns `nil`.
  mutating func value<Value>(_ field: Field, _ kind: ConfigurationValue<Value>) -> Value? {
    do throws(ConfigurationError) {
      return try kind.read(field, &self)
    } catch {
      // Unless the schema has already found a problem at the same place.
      let isKnown = problems.contains { $0.pointer == field.pointer && $0.code != .duplicateKey }
      if !isKnown { report(error.code, error.message, at: field.pointer) }
      return nil
    }
  }

  mutating func report(_ code: ConfigurationError.Code, _ message: String, at pointer: String) {
    problems.append(ConfigurationError(code: code, message: message, pointer: pointer))
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
}

/// A value and its place.
struct Field {
  let value: JSONValue
  let pointer: String

  /// The key in quotes, for the beginning of a message.
  var subject: String { JSONPointer.subject(pointer) }

  /// An error of this value; its message is a sentence about the value.
  func error(_ code: ConfigurationError.Code, _ clause: String) -> ConfigurationError {
    ConfigurationError(code: code, message: "\(subject) \(clause).", pointer: pointer)
  }

  /// Throws if a path begins as a shell would expand it, which nothing does here.
  func requireExpanded(_ path: String) throws(ConfigurationError) {
    guard path == "~" || path.hasPrefix("~/") else { return }
    throw error(
      .badPath,
      "begins with ~, which only a shell expands: write the whole path, or ./~/ for a folder of that name"
    )
  }

  /// A member of an object, or `nil` if it is absent or the value is not an object.
  subscript(key: String) -> Field? {
    value[key].map { Field(value: $0, pointer: JSONPointer.appending(key, to: pointer)) }
  }

  /// An element of a list; `null` if the value is not a list.
  subscript(index: Int) -> Field {
    Field(value: value.array?[index] ?? .null, pointer: JSONPointer.appending(index, to: pointer))
  }
}

/// A line and column in a text.
struct TextPosition {
  private var offset = 0
  /// The line, from 1.
  private(set) var line = 1
  /// The column in characters, from 1.
  private(set) var column = 1

  /// Advances to an offset; never moves back.
  mutating func advance(to target: Int, in bytes: [UInt8]) {
    while offset < min(target, bytes.count) {
      if bytes[offset] == 0x0A {
        line += 1
        column = 1
      } else if offset + 1 == bytes.count || bytes[offset + 1] & 0xC0 != 0x80 {
        // Count each UTF-8 sequence once, at its last byte.
        column += 1
      }
      offset += 1
    }
  }
}
