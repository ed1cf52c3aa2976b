import PipelineModel

/// An object of `pipeline.json`.
///
/// Its keys are all that is known about it: the schema that validates a file is made of them, and
/// they read the values of a file and write those of `config show`.
protocol ConfigurationObject: Sendable {
  /// The object with its defaults; required values are empty.
  static var standard: Self { get }
  /// Its keys, in the order in which they are read.
  static var keys: [ConfigurationKey<Self>] { get }
}

extension ConfigurationObject {
  /// The schema of such an object.
  static var schema: [String: JSONValue] {
    let properties = keys.map { ($0.name, JSONValue.object($0.schema)) }
    var schema: [String: JSONValue] = [
      "type": "object", "additionalProperties": false,
      "properties": .object(Dictionary(uniqueKeysWithValues: properties)),
    ]
    let required = keys.filter(\.isRequired).map { JSONValue.string($0.name) }
    if !required.isEmpty { schema["required"] = .array(required) }
    return schema
  }

  /// Reads an object; invalid values keep their defaults.
  init(_ field: Field, _ decoder: inout ConfigurationDecoder) {
    self = Self.standard
    for key in Self.keys {
      if let field = field[key.name] { key.read(field, &self, &decoder) }
    }
  }

  /// The object as in `pipeline.json`, with its defaults; unset keys without one are absent.
  func written() -> JSONValue {
    let members = Self.keys.compactMap { key in key.write(self).map { (key.name, $0) } }
    return .object(Dictionary(uniqueKeysWithValues: members))
  }
}

/// A key of `pipeline.json`: what the schema says about it, and how its value is read and written.
struct ConfigurationKey<Owner: ConfigurationObject>: Sendable {
  let name: String
  let isRequired: Bool
  let schema: [String: JSONValue]
  let read: @Sendable (Field, inout Owner, inout ConfigurationDecoder) -> Void
  let write: @Sendable (Owner) -> JSONValue?

  private init(
    _ name: String, _ schema: [String: JSONValue], _ description: String, isRequired: Bool,
    read: @escaping @Sendable (Field, inout Owner, inout ConfigurationDecoder) -> Void,
    write: @escaping @Sendable (Owner) -> JSONValue?
  ) {
    self.name = name
    self.isRequired = isRequired
    self.schema = schema.merging(["description": .string(description)]) { $1 }
    self.read = read
    self.write = write
  }

  /// Makes a key for a property.
  ///
  /// - Parameter hasFixedDefault: whether the schema states the default; false if that depends on
  ///   the machine.
  init<Value>(
    _ name: String, _ property: any WritableKeyPath<Owner, Value> & Sendable,
    _ kind: ConfigurationValue<Value>, _ description: String, isRequired: Bool = false,
    hasFixedDefault: Bool = true
  ) {
    var schema = kind.schema
    if !isRequired, hasFixedDefault, schema["default"] == nil {
      schema["default"] = kind.write(Owner.standard[keyPath: property])
    }
    self.init(
      name, schema, description, isRequired: isRequired,
      read: { field, owner, decoder in
        if let value = decoder.value(field, kind) { owner[keyPath: property] = value }
      },
      write: { kind.write($0[keyPath: property]) })
  }

  /// Makes a key for a property that is unset by default.
  init<Value>(
    _ name: String, _ property: any WritableKeyPath<Owner, Value?> & Sendable,
    _ kind: ConfigurationValue<Value>, _ description: String
  ) {
    self.init(name, property, kind.optional, description)
  }

  /// Makes a key that is not read.
  init(unread name: String, _ schema: [String: JSONValue], _ description: String) {
    self.init(
      name, schema, description, isRequired: false, read: { _, _, _ in }, write: { _ in nil })
  }

  /// Makes a key that is short for another; both may be present if they agree.
  ///
  /// - Parameter other: the other key, which is read before this one.
  init<Value: Equatable & SendableMetatype>(
    _ name: String, shortFor other: String,
    _ property: any WritableKeyPath<Owner, Value?> & Sendable,
    _ kind: ConfigurationValue<Value>
  ) {
    self.init(
      name, kind.schema, "Short for \(other).", isRequired: false,
      read: { field, owner, decoder in
        guard let value = decoder.value(field, kind) else { return }
        if let long = owner[keyPath: property], long != value {
          decoder.report(
            .conflict, "\(field.subject) is short for “\(other)”, but they differ; keep one.",
            at: field.pointer)
        }
        owner[keyPath: property] = value
      },
      write: { _ in nil })
  }
}
