public import PipelineModel

/// A plugin's description of itself.
public struct PluginManifest: Hashable, Sendable, Codable {
  /// Whether a result depends on the bytes alone or also on the asset.
  public enum Scope: String, Hashable, Sendable, Codable {
    /// Depends on bytes and options; all assets with the same bytes share the result.
    case original
    /// Depends on the name, sidecars or the asset itself.
    case asset
  }

  /// Media types that the plugin would accept if the machine had what they take.
  public struct Lack: Hashable, Sendable, Codable {
    /// The media types, as in `accepts`.
    public var accepts: [String]
    /// What is lacking and what to install, in sentences.
    public var reason: String

    public init(accepts: [String], reason: String) {
      self.accepts = accepts
      self.reason = reason
    }
  }

  /// Renditions each of which an element of a list in the options asks for.
  ///
  /// If only some elements change, the renditions of the others are kept, and a request's `wanted`
  /// names the rest.
  public struct Parts: Hashable, Sendable, Codable {
    /// The option whose value is the list: objects with a `name`, which is that of the rendition.
    public var option: String
    /// Facts about single renditions: objects with a member for each, by its name. All other facts
    /// are about the file.
    public var facts: [String]
    /// Whether a request's `kept` lists the files of renditions that are kept, of which the plugin
    /// may make others.
    public var kept: Bool

    public init(option: String, facts: [String] = [], kept: Bool = false) {
      self.option = option
      self.facts = facts
      self.kept = kept
    }

    public init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      self.init(
        option: try members.decode(String.self, forKey: .option),
        facts: try members.decodeIfPresent([String].self, forKey: .facts) ?? [],
        kept: try members.decodeIfPresent(Bool.self, forKey: .kept) ?? false)
    }
  }

  /// The name in `pipeline.json`: lower-case letters, digits and dashes.
  public var id: String
  /// The version, for people.
  public var version: String
  /// Increased only when the output for the same input and options changes.
  public var outputVersion: Int
  /// What a result depends on.
  public var scope: Scope
  /// A JSON Schema of the options, with a `default` for every optional one.
  public var options: JSONValue
  /// Options that, unless they have their defaults, make a result depend on the asset, like
  /// `Scope.asset`.
  public var assetOptions: [String]
  /// Accepted media types, such as `image/*`; `nil` for all, so that the stage does not need
  /// `identify`.
  public var accepts: [String]?
  /// What it lacks to accept more; skipped files say so.
  public var lacks: [Lack]
  /// The names of the facts it returns.
  public var facts: [String]
  /// Whether it makes renditions.
  public var makesRenditions: Bool
  /// The names of its renditions, so that a stage that wants one as its input can be checked; `nil` if
  /// they are not known in advance. One that begins with a slash is a JSON pointer to names in the
  /// options, in which `*` stands for each element: `/sizes/*/name`.
  public var renditions: [String]?
  /// The renditions that are asked for one by one; `nil` if all options concern all of them.
  public var parts: Parts?
  /// Whether `estimate` returns figures.
  public var estimates: Bool
  /// Names and versions of the decoders, such as `libvips 8.14.1`. When this changes, permanent
  /// failures are retried.
  public var runtime: String

  /// Creates a manifest.
  public init(
    id: String, version: String, outputVersion: Int, scope: Scope = .original,
    options: JSONValue = ["type": "object", "properties": [:], "additionalProperties": false],
    assetOptions: [String] = [], accepts: [String]? = nil, lacks: [Lack] = [],
    facts: [String] = [],
    makesRenditions: Bool = false, renditions: [String]? = nil, parts: Parts? = nil,
    estimates: Bool = false, runtime: String = ""
  ) {
    self.id = id
    self.version = version
    self.outputVersion = outputVersion
    self.scope = scope
    self.options = options
    self.assetOptions = assetOptions
    self.accepts = accepts
    self.lacks = lacks
    self.facts = facts
    self.makesRenditions = makesRenditions
    self.renditions = renditions
    self.parts = parts
    self.estimates = estimates
    self.runtime = runtime
  }
}

extension PluginManifest {
  /// The names of the renditions that it makes; `nil` if they are not known in advance.
  ///
  /// - Parameter options: the options, with the schema's defaults filled in.
  public func renditionNames(options: JSONValue) -> [String]? {
    guard makesRenditions else { return [] }
    return renditions?.flatMap { name -> [String] in
      guard name.hasPrefix("/") else { return [name] }
      let values = name.split(separator: "/").reduce([options]) { values, part in
        values.flatMap { part == "*" ? $0.array ?? [] : [$0[String(part)]].compactMap(\.self) }
      }
      return values.compactMap(\.string)
    }
  }

  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    func value<Value: Decodable>(_ key: CodingKeys) throws -> Value {
      try members.decode(Value.self, forKey: key)
    }
    self.init(
      id: try value(.id), version: try value(.version), outputVersion: try value(.outputVersion),
      scope: try value(.scope), options: try value(.options),
      assetOptions: try members.decodeIfPresent([String].self, forKey: .assetOptions) ?? [],
      accepts: try members.decodeIfPresent([String].self, forKey: .accepts),
      lacks: try members.decodeIfPresent([Lack].self, forKey: .lacks) ?? [],
      facts: try value(.facts), makesRenditions: try value(.makesRenditions),
      renditions: try members.decodeIfPresent([String].self, forKey: .renditions),
      parts: try members.decodeIfPresent(Parts.self, forKey: .parts),
      estimates: try value(.estimates), runtime: try value(.runtime))
    guard options != .null else {
      throw DecodingError.dataCorruptedError(
        forKey: .options, in: members, debugDescription: "an object is expected")
    }
  }
}
