internal import Glibc
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
public struct PluginRendition: Hashable, Sendable, Codable {
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

extension PluginResult: Codable {
  private enum Key: String, CodingKey { case outcome, facts, renditions, reason, failure }

  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    switch try members.decode(String.self, forKey: .outcome) {
    case "done":
      self = .done(
        facts: try members.decodeIfPresent(JSONValue.self, forKey: .facts) ?? [:],
        renditions: try members.decodeIfPresent([PluginRendition].self, forKey: .renditions) ?? [])
    case "skipped":
      self = .skipped(reason: try members.decode(String.self, forKey: .reason))
    case "failed":
      self = .failed(try members.decode(PluginFailure.self, forKey: .failure))
    case let other:
      throw DecodingError.dataCorruptedError(
        forKey: .outcome, in: members,
        debugDescription: "\(quoted(other)) is not done, skipped or failed")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    let members: KeyValuePairs<Key, any Encodable> =
      switch self {
      case .done(let facts, let renditions):
        [.outcome: "done", .facts: facts, .renditions: renditions]
      case .skipped(let reason): [.outcome: "skipped", .reason: reason]
      case .failed(let failure): [.outcome: "failed", .failure: failure]
      }
    try encoder.encode(members)
  }
}

/// Why a job failed.
public struct PluginFailure: Error, Hashable, Sendable, Codable {
  /// The cause of a failure, which decides when to retry.
  public enum Class: String, Hashable, Sendable, Codable {
    /// This runtime can't process these bytes with these options.
    case permanent
    /// No space, an I/O error or a timeout: a retry may succeed.
    case transient
    /// The machine lacks something; no file is to blame.
    case environment
  }

  /// The cause of the failure.
  public var `class`: Class
  /// A sentence for the user.
  public var reason: String

  /// Creates a failure.
  public init(_ class: Class, _ reason: String) {
    self.class = `class`
    self.reason = reason
  }

  /// The failure of a job that was refused memory.
  ///
  /// A worker's memory is limited, so the next attempt would fail as well. Without a limit, the machine
  /// is short of memory at the moment. Source: getrlimit(2).
  ///
  /// - Parameter sentence: what could not be done, with a full stop.
  public static func outOfMemory(_ sentence: String) -> PluginFailure {
    var limit = rlimit()
    let isLimited =
      getrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit) == 0
      && limit.rlim_cur != rlim_t.max
    return isLimited
      ? PluginFailure(.permanent, "\(sentence) For more, set limits.memory of its stage.")
      : PluginFailure(.transient, sentence)
  }

  /// The most characters of a reason that are stored: it is a sentence for the user.
  package static let longestReason = 2000

  /// A reason, shortened for storage.
  package static func kept(_ reason: String) -> String { reason.shortened(to: longestReason) }

  /// The failure with its reason shortened for storage.
  package var kept: PluginFailure { PluginFailure(self.class, Self.kept(reason)) }
}
