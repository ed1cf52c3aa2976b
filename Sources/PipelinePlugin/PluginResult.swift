public import PipelineModel

/// The outcome of a job.
public enum PluginResult: Hashable, Sendable {
  /// The job succeeded; carries its facts and the files it made.
  case done(facts: JSONValue = [:], renditions: [PluginRendition] = [])
  /// There was nothing to do for these bytes; `reason` is a sentence.
  case skipped(reason: String)
  /// The job failed.
  case failed(PluginFailure)
}

/// A file that a plugin made in its output folder.
public struct PluginRendition: Hashable, Sendable, Encodable {
  /// The rendition's name within the stage, such as `grid`: letters, digits, `-` and `_`.
  public var name: String
  /// The file's path relative to the output folder.
  public var path: String
  /// Its type, such as `image/jpeg`.
  public var mediaType: String
  /// Its width in pixels.
  public var width: Int
  /// Its height in pixels.
  public var height: Int
  /// `image` if made from the picture itself, `preview` if from an embedded preview.
  public var from: String?

  /// Creates a rendition.
  public init(
    name: String, path: String, mediaType: String, width: Int, height: Int, from: String? = nil
  ) {
    self.name = name
    self.path = path
    self.mediaType = mediaType
    self.width = width
    self.height = height
    self.from = from
  }
}

extension PluginResult: Encodable {
  private enum Key: String, CodingKey { case outcome, facts, renditions, reason, failure }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    switch self {
    case .done(let facts, let renditions):
      try container.encode("done", forKey: .outcome)
      try container.encode(facts, forKey: .facts)
      try container.encode(renditions, forKey: .renditions)
    case .skipped(let reason):
      try container.encode("skipped", forKey: .outcome)
      try container.encode(reason, forKey: .reason)
    case .failed(let failure):
      try container.encode("failed", forKey: .outcome)
      try container.encode(failure, forKey: .failure)
    }
  }
}
