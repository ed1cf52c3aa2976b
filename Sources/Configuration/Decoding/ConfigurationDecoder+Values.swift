import PipelineModel

extension ConfigurationDecoder {
  mutating func text(_ field: Field?) -> String? {
    guard let field else { return nil }
    if field.value.string == nil { refuse(field, .wrongType, "\(field.subject) must be a string.") }
    return field.value.string
  }

  mutating func flag(_ field: Field?) -> Bool? {
    guard let field else { return nil }
    if field.value.bool == nil {
      refuse(field, .wrongType, "\(field.subject) must be true or false.")
    }
    return field.value.bool
  }

  /// Decodes an integer from 1.
  mutating func count(_ field: Field?) -> Int? {
    guard let field else { return nil }
    guard let value = field.value.integer, value > 0 else {
      refuse(field, .badValue, "\(field.subject) must be a whole number from 1 to 2⁶³−1.")
      return nil
    }
    return value
  }

  /// Decodes a number from 0 to 1.
  mutating func share(_ field: Field?) -> Double? {
    guard let field else { return nil }
    guard let value = field.value.double, (0...1).contains(value) else {
      refuse(field, .badValue, "\(field.subject) must be a number from 0 to 1.")
      return nil
    }
    return value
  }

  /// Decodes an enumeration by its raw values.
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

  mutating func duration(_ field: Field?) -> TimeSpan? {
    guard let field else { return nil }
    let span = field.value.string.flatMap { TimeSpan($0) }
    if span == nil {
      refuse(field, .badDuration, "\(field.subject) is \(field.value.wording), which is too long.")
    }
    return span
  }

  mutating func size(_ field: Field?) -> ByteSize? {
    guard let field else { return nil }
    let size = field.value.string.flatMap { ByteSize($0) }
    if size == nil {
      refuse(field, .badSize, "\(field.subject) is \(field.value.wording), which is too large.")
    }
    return size
  }

  /// Decodes a path and makes it absolute and normalized. `..` removes the preceding name, even
  /// if that is a symbolic link.
  mutating func path(_ field: Field?) -> BytePath? {
    guard let field, let text = text(field) else { return nil }
    guard !text.utf8.contains(0) else {
      refuse(field, .badPath, "\(field.subject) contains a NUL character, which paths can't.")
      return nil
    }
    // The schema rejects an empty path, which would mean the folder of the file.
    guard !text.isEmpty else { return nil }
    return file.parent.appending(text).normalized
  }

  mutating func glob(_ field: Field) -> Glob? {
    guard let text = text(field) else { return nil }
    do {
      return try Glob(text)
    } catch {
      refuse(field, .badGlob, "\(field.subject): \(error.message)")
      return nil
    }
  }

  /// Decodes a list, skipping invalid elements.
  mutating func list<Element>(
    _ field: Field?, _ element: (inout Self, Field) -> Element?
  ) -> [Element] {
    placed(field, element).map(\.value)
  }

  /// Decodes a list with the place of each element, skipping invalid ones.
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

/// A decoded value and the pointer to it.
struct Placed<Value> {
  let value: Value
  let pointer: String

  /// The pointer to a member.
  func pointer(_ key: some RawRepresentable<String>) -> String {
    JSONPointer.appending(key.rawValue, to: pointer)
  }
}
