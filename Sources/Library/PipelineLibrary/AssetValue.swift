/// A type of a program's own for the values of a property of assets, such as an enumeration of cameras.
///
/// It says which property's values it stands for, and converts both ways:
///
///     enum Camera: String, AssetValue {
///       case x100 = "FUJIFILM X100V"
///       static var property: KeyPath<Asset, String?> { \.camera }
///     }
///     extension Asset { var model: Camera? { value() } }
///
/// Then `#Predicate { $0.model == Camera.x100 }`, `!=` and `models.contains($0.model)` are answered by the property:
/// a property of an asset that is of this type, as an optional, always stands for `value()`. `== nil`, `??` and
/// `if let` are not translated, because what the type does not know is not missing; ask the property itself. Where
/// the type is `Comparable`, `SortDescriptor(\.model)` sorts by what is stored, whatever its `<` says.
public protocol AssetValue: Hashable, Codable, Sendable {
  /// The type of the property: `String`, `Int`, `Double` or `Date`.
  associatedtype Stored: Hashable & Sendable

  /// The property of an asset whose values it stands for.
  static var property: KeyPath<Asset, Stored?> { get }

  /// Returns `nil` if no value of this type stands for what is stored.
  init?(stored: Stored)

  /// What is stored where an asset has this value.
  var stored: Stored { get }
}

extension AssetValue where Self: RawRepresentable, RawValue == Stored {
  public init?(stored: Stored) { self.init(rawValue: stored) }
  public var stored: Stored { rawValue }
}

extension Asset {
  /// Its value of a type of the program's own; `nil` if it has none, or one that the type does not know.
  public func value<Value: AssetValue>(as type: Value.Type = Value.self) -> Value? {
    self[keyPath: Value.property].flatMap { Value(stored: $0) }
  }
}

extension AssetValue {
  /// What is stored, for a predicate's translation, which knows no types.
  var anyStored: Any { stored }
  /// The property, of any type.
  static var anyProperty: AnyKeyPath { property }
}

/// A type whose values may stand for those of a property: an `AssetValue`, or an optional one.
protocol AssetValueType {
  static var valueProperty: AnyKeyPath? { get }
}

extension Optional: AssetValueType where Wrapped: AssetValue {
  static var valueProperty: AnyKeyPath? { Wrapped.anyProperty }
}
