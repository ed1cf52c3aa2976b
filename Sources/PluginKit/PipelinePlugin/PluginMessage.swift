package import PipelineModel

/// A message from a plugin in another process to the program: one JSON object per line.
public enum PluginMessage: Hashable, Sendable {
  /// The plugin's description of itself.
  case manifest(protocol: Int, PluginManifest)
  /// The plugin is set up.
  case created
  /// The plugin can't be loaded or set up.
  case failed(PluginFailure)
  /// How many bytes jobs will need, in the order of the request; `nil` if unknown.
  case estimates([Int?])
  /// A line of the plugin's log.
  case log(PluginHost.LogLevel, String)
  /// The completed fraction of the job, from 0 to 1.
  case progress(Double)
  /// The most seconds of processor time that the job may use.
  case limit(cpu: Double)
  /// The result of a job.
  case result(job: String, PluginResult)
  /// A message had a type that the plugin does not know.
  case unsupported

  /// The longest line, and thus the limit for the facts of a result, in bytes: 1 MiB.
  ///
  /// Longer lines are not decoded: `[0,0,…]` takes sixty times as much memory as values.
  public static let longestLine = 1 << 20
}

extension PluginMessage: Codable {
  private enum Key: String, CodingKey {
    case type, `protocol`, manifest, failure, bytes, level, message, fraction, cpu, job, result
  }

  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    switch try members.decode(String.self, forKey: .type) {
    case "manifest":
      self = .manifest(
        protocol: try members.decode(Int.self, forKey: .protocol),
        try members.decode(PluginManifest.self, forKey: .manifest))
    case "created":
      self = .created
    case "failed":
      self = .failed(try members.decode(PluginFailure.self, forKey: .failure))
    case "estimates":
      self = .estimates(try members.decode([JSONValue].self, forKey: .bytes).map(\.integer))
    case "log":
      // A level of a later version is no reason to lose the line.
      let level = try members.decodeIfPresent(JSONValue.self, forKey: .level)?.string
      let message = try members.decode(String.self, forKey: .message)
      self = .log(
        PluginHost.LogLevel.allCases.first { $0.name == level } ?? .info,
        message.shortened(to: Self.longestLog))
    case "progress":
      self = .progress(try members.decode(Double.self, forKey: .fraction))
    case "limit":
      self = .limit(cpu: try members.decode(Double.self, forKey: .cpu))
    case "result":
      self = .result(
        job: try members.decode(String.self, forKey: .job),
        try members.decode(PluginResult.self, forKey: .result))
    case "unsupported":
      self = .unsupported
    case let other:
      throw DecodingError.dataCorruptedError(
        forKey: .type, in: members, debugDescription: "\(quoted(other)) is not a message type")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    let members: KeyValuePairs<Key, any Encodable> =
      switch self {
      case .manifest(let version, let manifest):
        [.type: "manifest", .protocol: version, .manifest: manifest]
      case .created: [.type: "created"]
      case .failed(let failure): [.type: "failed", .failure: failure]
      case .estimates(let bytes): [.type: "estimates", .bytes: bytes]
      case .log(let level, let message):
        [.type: "log", .level: level.name, .message: message]
      case .progress(let fraction): [.type: "progress", .fraction: fraction]
      case .limit(let cpu): [.type: "limit", .cpu: cpu]
      case .result(let job, let result): [.type: "result", .job: job, .result: result]
      case .unsupported: [.type: "unsupported"]
      }
    try encoder.encode(members)
  }
}

extension PluginHost.LogLevel {
  /// The level's name in messages.
  var name: String { "\(self)" }
}

/// Reads untrusted messages from plugins: refuses what exceeds a limit before building values from
/// it.
extension PluginMessage {
  /// The deepest nesting of arrays and objects in a message, because traversal recurses.
  package static let greatestDepth = 128

  /// The most values in a message, because processing values costs more than reading them.
  package static let mostValues = 100_000

  /// The most characters of a log line; the rest is cut off.
  package static let longestLog = 4096

  /// Reads one line from a plugin.
  package init(line: [UInt8]) throws(MessageError) {
    try self.init(Self.value(of: line))
  }

  /// Reads JSON that a plugin wrote.
  package static func value(of text: some Sequence<UInt8>) throws(MessageError) -> JSONValue {
    let bytes = Array(text)
    guard bytes.count <= longestLine else {
      throw MessageError("it is longer than \(ByteSize(bytes: longestLine))")
    }
    do throws(JSONError) {
      return try JSONReader.read(bytes, depth: greatestDepth, mostValues: mostValues).value
    } catch {
      throw MessageError(error.message)
    }
  }
}

/// What plugins write.
package protocol PluginDocument: Decodable {}

extension PluginDocument {
  /// Reads a value that a plugin wrote.
  package init(_ value: JSONValue) throws(MessageError) {
    do {
      self = try value.decoded(as: Self.self)
    } catch {
      throw MessageError(error.clause)
    }
  }
}

extension PluginMessage: PluginDocument {}
extension PluginManifest: PluginDocument {}
extension PluginResult: PluginDocument {}
extension PluginFailure: PluginDocument {}

/// Why a message from a plugin is invalid.
package struct MessageError: Error, Hashable, Sendable {
  /// A clause such as: a string is expected, in “manifest, id”.
  package let message: String

  init(_ message: String) { self.message = message }
}

extension Error {
  /// What is wrong with a decoded value, as a clause for readers who don't know the decoder.
  var clause: String {
    guard let error = self as? DecodingError else { return "\(self)" }
    switch error {
    case .typeMismatch(_, let context), .valueNotFound(_, let context),
      .keyNotFound(_, let context), .dataCorrupted(let context):
      return context.clause
    @unknown default:
      return "a value can't be read"
    }
  }
}

extension DecodingError.Context {
  fileprivate var clause: String {
    var clause = debugDescription
    // The standard library's text for an unknown enumeration value; it ends with that value.
    if clause.hasPrefix("Cannot initialize ") {
      let value = clause.split(separator: " value ", maxSplits: 1).last ?? ""
      clause = "\(quoted(String(value))) is not an allowed value"
    }
    let place = codingPath.map { $0.intValue.map { "\($0 + 1)" } ?? $0.stringValue }
    return place.isEmpty ? clause : "\(clause), in \(quoted(place.joined(separator: ", ")))"
  }
}
