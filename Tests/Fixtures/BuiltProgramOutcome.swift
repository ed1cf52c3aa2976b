package import PipelineModel

/// What came of a run of the built program.
package struct BuiltProgramOutcome: Sendable {
  /// Its exit code, or `nil` if a signal ended it.
  package let exitCode: Int32?
  /// The signal that ended it.
  package let signal: Int32?
  /// What it printed as its result.
  package let outputBytes: [UInt8]
  /// What it printed for people.
  package let errorBytes: [UInt8]

  /// Its result as text.
  package var output: String { String(decoding: outputBytes, as: UTF8.self) }

  /// Its messages as text.
  package var errors: String { String(decoding: errorBytes, as: UTF8.self) }

  /// Its result as JSON, an object a line.
  ///
  /// - Throws: if a line is no JSON object with an event, or no newline ends the last one.
  package func events() throws -> [JSONValue] {
    guard outputBytes.isEmpty || outputBytes.last == UInt8(ascii: "\n") else {
      throw BuiltProgramError("The last line is not ended: \(output.suffix(200))")
    }
    return try outputBytes.split(separator: UInt8(ascii: "\n")).map { line in
      let value = try JSONText.decode(JSONValue.self, from: String(decoding: line, as: UTF8.self))
      guard value["event"]?.string != nil else {
        throw BuiltProgramError("A line is no event: \(String(decoding: line, as: UTF8.self))")
      }
      return value
    }
  }

  /// The events of one kind.
  package func events(_ name: String) throws -> [JSONValue] {
    try events().filter { $0["event"]?.string == name }
  }

  /// The one event of a kind.
  package func event(_ name: String) throws -> JSONValue {
    let found = try events(name)
    guard found.count == 1 else {
      throw BuiltProgramError("There are \(found.count) events “\(name)” in:\n\(output)\(errors)")
    }
    return found[0]
  }
}
