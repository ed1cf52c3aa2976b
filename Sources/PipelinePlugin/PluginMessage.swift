import PipelineModel

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
  /// The result of a job.
  case result(job: String, PluginResult)
  /// A message had a type that the plugin does not know.
  case unsupported

  /// The longest line, and thus the limit for the facts of a result, in bytes: 1 MiB.
  ///
  /// Longer lines are not decoded: `[0,0,…]` takes sixty times as much memory as values.
  public static let longestLine = 1 << 20
}

extension PluginMessage: Encodable {
  private enum Key: String, CodingKey {
    case type, `protocol`, manifest, failure, bytes, level, message, fraction, job, result
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    switch self {
    case .manifest(let version, let manifest):
      try container.encode("manifest", forKey: .type)
      try container.encode(version, forKey: .protocol)
      try container.encode(manifest, forKey: .manifest)
    case .created:
      try container.encode("created", forKey: .type)
    case .failed(let failure):
      try container.encode("failed", forKey: .type)
      try container.encode(failure, forKey: .failure)
    case .estimates(let bytes):
      try container.encode("estimates", forKey: .type)
      try container.encode(bytes, forKey: .bytes)
    case .log(let level, let message):
      try container.encode("log", forKey: .type)
      try container.encode(level.name, forKey: .level)
      try container.encode(message, forKey: .message)
    case .progress(let fraction):
      try container.encode("progress", forKey: .type)
      try container.encode(fraction, forKey: .fraction)
    case .result(let job, let result):
      try container.encode("result", forKey: .type)
      try container.encode(job, forKey: .job)
      try container.encode(result, forKey: .result)
    case .unsupported:
      try container.encode("unsupported", forKey: .type)
    }
  }
}

extension PluginHost.LogLevel {
  /// The level's name in messages.
  var name: String {
    switch self {
    case .debug: "debug"
    case .info: "info"
    case .warning: "warning"
    case .error: "error"
    }
  }
}
