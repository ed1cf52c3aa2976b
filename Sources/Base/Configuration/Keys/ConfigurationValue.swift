import PipelineModel

/// A kind of value in `pipeline.json`: its schema, and how it is read and written.
struct ConfigurationValue<Value>: Sendable {
  let schema: [String: JSONValue]
  /// Reads a value. If it does not conform to the schema, that is reported instead of the error.
  let read: @Sendable (Field, inout ConfigurationDecoder) throws(ConfigurationError) -> Value
  let write: @Sendable (Value) -> JSONValue?

  /// The same for a property that may be unset.
  var optional: ConfigurationValue<Value?> {
    ConfigurationValue<Value?>(
      schema: schema,
      read: { field, decoder throws(ConfigurationError) in try read(field, &decoder) },
      write: { $0.flatMap(write) })
  }
}

extension ConfigurationValue {
  /// A value without parts.
  ///
  /// - Parameters:
  ///   - code: the code of the error if `parse` returns `nil`.
  ///   - fault: what is then wrong with a value that conforms to the schema.
  init(
    _ schema: [String: JSONValue], _ code: ConfigurationError.Code = .badValue,
    fault: String = "not allowed", write: @escaping @Sendable (Value) -> JSONValue,
    parse: @escaping @Sendable (JSONValue) -> Value?
  ) {
    self.init(
      schema: schema,
      read: { field, _ throws(ConfigurationError) in
        if let value = parse(field.value) { return value }
        throw field.error(code, "is \(field.value.wording), which is \(fault)")
      }, write: write)
  }

  static func list<Element>(
    of element: ConfigurationValue<Element>, isDistinct: Bool = false
  ) -> Self where Value == [Element] {
    var schema: [String: JSONValue] = ["type": "array", "items": .object(element.schema)]
    if isDistinct { schema["uniqueItems"] = true }
    return ConfigurationValue(
      schema: schema,
      read: { field, decoder throws(ConfigurationError) in
        guard let elements = field.value.array else {
          throw field.error(.wrongType, "must be a list")
        }
        return elements.indices.compactMap { decoder.value(field[$0], element) }
      },
      write: { .array($0.compactMap(element.write)) })
  }
}

extension ConfigurationValue where Value: ConfigurationObject {
  /// An object. Reading it never fails, so its position in a list is that in the file.
  ///
  /// - Parameter keywords: more of its schema.
  static func object(_ keywords: [String: JSONValue]) -> Self {
    ConfigurationValue(
      schema: Value.schema.merging(keywords) { $1 },
      read: { field, decoder throws(ConfigurationError) in Value(field, &decoder) },
      write: { $0.written() })
  }
}

extension ConfigurationValue
where Value: CaseIterable & RawRepresentable<String> & SendableMetatype {
  /// One of the cases of an enumeration.
  static var choice: Self {
    let choices = Value.allCases.map { JSONValue.string($0.rawValue) }
    return ConfigurationValue(
      ["type": "string", "enum": .array(choices)], write: { .string($0.rawValue) },
      parse: { $0.string.flatMap { Value(rawValue: $0) } })
  }
}

extension ConfigurationValue where Value == Bool {
  static var flag: Self {
    ConfigurationValue(["type": "boolean"], write: { .bool($0) }, parse: \.bool)
  }
}

extension ConfigurationValue where Value == Int {
  /// A whole number from 1.
  static func count(most: Int? = nil) -> Self {
    var schema: [String: JSONValue] = ["type": "integer", "minimum": 1]
    schema["maximum"] = most.map { .integer($0) }
    return ConfigurationValue(
      schema, fault: "more than 2⁶³−1", write: { .integer($0) }, parse: \.integer)
  }
}

extension ConfigurationValue where Value == Double {
  /// A number from 0 to 1.
  static var share: Self {
    ConfigurationValue(
      ["type": "number", "minimum": 0, "maximum": 1], write: { .number($0) }, parse: \.double)
  }
}

extension ConfigurationValue where Value == String {
  /// A string.
  ///
  /// - Parameter keywords: more of its schema.
  static func text(_ keywords: [String: JSONValue] = [:]) -> Self {
    ConfigurationValue(
      keywords.merging(["type": "string"]) { $1 }, write: { .string($0) }, parse: \.string)
  }
}

extension ConfigurationValue where Value == TimeSpan {
  static var duration: Self { span("duration") }
  static var positiveDuration: Self { span("positiveDuration") }

  private static func span(_ definition: String) -> Self {
    ConfigurationValue(
      reference(to: definition), .badDuration, fault: "too long",
      write: { .string($0.description) }, parse: { $0.string.flatMap { TimeSpan($0) } })
  }
}

extension ConfigurationValue where Value == ByteSize {
  static var size: Self { amount("size") }
  static var positiveSize: Self { amount("positiveSize") }

  private static func amount(_ definition: String) -> Self {
    ConfigurationValue(
      reference(to: definition), .badSize, fault: "too large",
      write: { .string($0.notation) }, parse: { $0.string.flatMap { ByteSize($0) } })
  }
}

extension ConfigurationValue where Value == BytePath {
  /// A path, made absolute and normalized. `..` removes the preceding name, even if that is a
  /// symbolic link.
  static var path: Self {
    ConfigurationValue(
      schema: reference(to: "path"),
      read: { field, decoder throws(ConfigurationError) in
        let text = field.value.string ?? ""
        guard !text.isEmpty, !text.utf8.contains(0) else {
          throw field.error(.badPath, "contains a NUL character, which paths can't")
        }
        try field.requireExpanded(text)
        return decoder.file.parent.appending(text).normalized
      },
      write: { .string($0.description) })
  }
}

extension ConfigurationValue where Value == BucketLocation {
  static var bucket: Self {
    ConfigurationValue(
      schema: ["type": "string", "pattern": "^s3://."],
      read: { field, _ throws(ConfigurationError) in
        try field.location { text throws(LocationFault) in try BucketLocation(text) }
      },
      write: { .string($0.description) })
  }
}

extension ConfigurationValue where Value == CatalogLocation {
  /// A path, or the URI of a database.
  static var catalogLocation: Self {
    let path = ConfigurationValue<BytePath>.path
    return ConfigurationValue(
      schema: path.schema,
      read: { field, decoder throws(ConfigurationError) in
        guard DatabaseLocation.isMeant(by: field.value.string ?? "") else {
          return .folder(try path.read(field, &decoder))
        }
        return try field.location { text throws(LocationFault) in
          .database(try DatabaseLocation(text))
        }
      },
      write: { location in
        switch location {
        case .folder(let folder): path.write(folder)
        case .database(let database): .string(database.description)
        }
      })
  }
}

extension Field {
  /// Reads the location of something that is no path.
  fileprivate func location<Location>(
    _ read: (String) throws(LocationFault) -> Location
  ) throws(ConfigurationError) -> Location {
    do throws(LocationFault) {
      return try read(value.string ?? "")
    } catch {
      throw self.error(.badValue, error.reason)
    }
  }
}

extension ConfigurationValue where Value == Glob {
  static var glob: Self {
    ConfigurationValue(
      schema: reference(to: "glob"),
      read: { field, _ throws(ConfigurationError) in
        do throws(ConfigurationError) {
          return try Glob(field.value.string ?? "")
        } catch {
          throw ConfigurationError(code: error.code, message: "\(field.subject): \(error.message)")
        }
      },
      write: { .string($0.pattern.description) })
  }
}

/// The schema of a value that has a definition in the file's schema.
private func reference(to definition: String) -> [String: JSONValue] {
  ["$ref": .string("#/$defs/\(definition)")]
}
