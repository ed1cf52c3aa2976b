import PipelineModel

extension ConfigurationDecoder {
  /// Reads a text.
  mutating func text(_ field: Field?) -> String? {
    guard let field else { return nil }
    if field.value.string == nil { refuse(field, .wrongType, "\(field.subject) must be a text.") }
    return field.value.string
  }

  /// Reads true or false.
  mutating func flag(_ field: Field?) -> Bool? {
    guard let field else { return nil }
    if field.value.bool == nil {
      refuse(field, .wrongType, "\(field.subject) must be true or false.")
    }
    return field.value.bool
  }

  /// Reads a whole number from 1.
  mutating func count(_ field: Field?) -> Int? {
    guard let field else { return nil }
    guard let value = field.value.integer, value > 0 else {
      refuse(field, .badValue, "\(field.subject) must be a whole number from 1 to 2⁶³−1.")
      return nil
    }
    return value
  }

  /// Reads a share: a number from 0 to 1.
  mutating func share(_ field: Field?) -> Double? {
    guard let field else { return nil }
    guard let value = field.value.double, (0...1).contains(value) else {
      refuse(field, .badValue, "\(field.subject) must be a number from 0 to 1.")
      return nil
    }
    return value
  }

  /// Reads one of some words.
  mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ field: Field?, as _: Choice.Type = Choice.self
  ) -> Choice? {
    guard let field else { return nil }
    let choice = field.value.string.flatMap(Choice.init)
    if choice == nil {
      let allowed = alternatives(Choice.allCases.map { quoted($0.rawValue) })
      refuse(field, .badValue, "\(field.subject) must be \(allowed).")
    }
    return choice
  }

  /// Reads a duration.
  mutating func duration(_ field: Field?) -> TimeSpan? {
    guard let field else { return nil }
    let span = field.value.string.flatMap { TimeSpan($0) }
    if span == nil {
      refuse(field, .badDuration, "\(field.subject) is \(field.value.wording), which is too long.")
    }
    return span
  }

  /// Reads a size.
  mutating func size(_ field: Field?) -> ByteSize? {
    guard let field else { return nil }
    let size = field.value.string.flatMap { ByteSize($0) }
    if size == nil {
      refuse(field, .badSize, "\(field.subject) is \(field.value.wording), which is too large.")
    }
    return size
  }

  /// Reads a path, made absolute and normalized. `..` takes away the name before it, also
  /// where that is a symbolic link.
  mutating func path(_ field: Field?) -> BytePath? {
    guard let field, let text = text(field) else { return nil }
    guard !text.utf8.contains(0) else {
      refuse(field, .badPath, "\(field.subject) has a NUL character, which no path can have.")
      return nil
    }
    // The schema refuses an empty path, which would mean the folder of the file.
    guard !text.isEmpty else { return nil }
    return file.parent.appending(text).normalized
  }

  /// Reads a pattern.
  mutating func glob(_ field: Field) -> Glob? {
    guard let text = text(field) else { return nil }
    do {
      return try Glob(text)
    } catch {
      refuse(field, .badGlob, "\(field.subject): \(error.message)")
      return nil
    }
  }

  /// Reads a list, leaving out what is wrong.
  mutating func list<Element>(
    _ field: Field?, _ element: (inout Self, Field) -> Element?
  ) -> [Element] {
    placed(field, element).map(\.value)
  }

  /// Reads a list, leaving out what is wrong, and says where each element is.
  mutating func placed<Element>(
    _ field: Field?, _ element: (inout Self, Field) -> Element?
  ) -> [Placed<Element>] {
    guard let field else { return [] }
    guard let values = field.value.array else {
      refuse(field, .wrongType, "\(field.subject) must be a list.")
      return []
    }
    return values.indices.compactMap { index in
      let place = Field(
        value: values[index], pointer: JSONPointer.appending(index, to: field.pointer))
      return element(&self, place).map { Placed(value: $0, pointer: place.pointer) }
    }
  }
}

/// Something decoded, and where it came from.
struct Placed<Value> {
  let value: Value
  let pointer: String

  /// The place of a member.
  func pointer(_ key: some RawRepresentable<String>) -> String {
    JSONPointer.appending(key.rawValue, to: pointer)
  }
}
