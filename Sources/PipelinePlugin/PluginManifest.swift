public import PipelineModel

/// What a plugin says of itself.
public struct PluginManifest: Hashable, Sendable, Encodable {
  /// Whether a result depends on the bytes alone or on the asset as well.
  public enum Scope: String, Hashable, Sendable, Encodable {
    /// Bytes and options decide; all assets with the same bytes share the result.
    case original
    /// Name, sidecars or the asset itself matter.
    case asset
  }

  /// The name in `pipeline.json`: lower-case letters, digits and dashes.
  public var id: String
  /// The version for people.
  public var version: String
  /// Raised only when the output for the same input and options changes.
  public var outputVersion: Int
  /// What a result depends on.
  public var scope: Scope
  /// A JSON Schema of the options, with a `default` for every optional one.
  public var options: JSONValue
  /// Names of options that make a result depend on the asset, as `Scope.asset` says, where
  /// they differ from their defaults.
  public var assetOptions: [String]
  /// Media types it can work on, such as `image/*`; `nil` for everything, which
  /// spares the stage the need for `identify`.
  public var accepts: [String]?
  /// Names of the facts it finds.
  public var facts: [String]
  /// Whether it makes renditions.
  public var makesRenditions: Bool
  /// Whether `estimate` gives figures.
  public var estimates: Bool
  /// Names and versions of the decoders at work, for example `libvips 8.14.1`.
  /// Permanent failures are tried again when this changes.
  public var runtime: String

  /// Makes a manifest.
  public init(
    id: String, version: String, outputVersion: Int, scope: Scope = .original,
    options: JSONValue = ["type": "object", "properties": [:], "additionalProperties": false],
    assetOptions: [String] = [], accepts: [String]? = nil, facts: [String] = [],
    makesRenditions: Bool = false,
    estimates: Bool = false, runtime: String = ""
  ) {
    self.id = id
    self.version = version
    self.outputVersion = outputVersion
    self.scope = scope
    self.options = options
    self.assetOptions = assetOptions
    self.accepts = accepts
    self.facts = facts
    self.makesRenditions = makesRenditions
    self.estimates = estimates
    self.runtime = runtime
  }
}
