public import PipelineModel

/// A message from the program to a plugin in another process: one JSON object per line.
public enum HostMessage: Hashable, Sendable {
  /// Starts the conversation. Answer: `manifest`.
  case hello(protocol: Int, program: String)
  /// Sets the plugin up. Answer: `created`, or `failed`.
  case create(options: JSONValue)
  /// Asks how many bytes jobs with these facts will need. Answer: `estimates`.
  case estimate(facts: [[String: JSONValue]])
  /// Starts a job. Answer: `result`, after any number of `log` and `progress`.
  case process(PluginRequest)
  /// Cancels a job. The only answer is the job's `result`.
  case cancel(job: String)
  /// A message of a later version. Answer: `unsupported`.
  case unknown(String)

  /// The version of the protocol.
  public static let currentProtocol = 1
  /// The longest line, in bytes: 16 MiB.
  public static let longestLine = 16 << 20
}

extension HostMessage: Codable {
  private enum Key: String, CodingKey {
    case type, `protocol`, program, options, facts, request, job
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    switch try container.decode(String.self, forKey: .type) {
    case "hello":
      self = .hello(
        protocol: try container.decode(Int.self, forKey: .protocol),
        program: try container.decodeIfPresent(String.self, forKey: .program) ?? "")
    case "create":
      self = .create(options: try container.decode(JSONValue.self, forKey: .options))
    case "estimate":
      self = .estimate(facts: try container.decode([[String: JSONValue]].self, forKey: .facts))
    case "process":
      self = .process(try container.decode(PluginRequest.self, forKey: .request))
    case "cancel":
      self = .cancel(job: try container.decode(String.self, forKey: .job))
    case let other:
      self = .unknown(other)
    }
  }

  public func encode(to encoder: any Encoder) throws {
    let members: KeyValuePairs<Key, any Encodable> =
      switch self {
      case .hello(let version, let program):
        [.type: "hello", .protocol: version, .program: program]
      case .create(let options): [.type: "create", .options: options]
      case .estimate(let facts): [.type: "estimate", .facts: facts]
      case .process(let request): [.type: "process", .request: request]
      case .cancel(let job): [.type: "cancel", .job: job]
      case .unknown(let type): [.type: type]
      }
    try encoder.encode(members)
  }
}

extension Encoder {
  /// Encodes the members of an object.
  func encode<Key: CodingKey>(_ members: KeyValuePairs<Key, any Encodable>) throws {
    var container = container(keyedBy: Key.self)
    for (key, value) in members { try container.encode(value, forKey: key) }
  }
}
