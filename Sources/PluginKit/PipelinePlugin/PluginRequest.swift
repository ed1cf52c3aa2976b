public import PipelineModel

/// One job, as the program sends it to a plugin.
public struct PluginRequest: Hashable, Sendable, Codable {
  /// The version of the request format.
  public static let currentVersion = 1

  /// The asset of a job. Plugins of scope `original` see one of the assets that share the bytes.
  public struct Subject: Hashable, Sendable, Codable {
    /// The asset's key.
    public var id: AssetID
    /// The file's name at import; bytes that are not UTF-8 are percent-encoded.
    public var name: String
    /// The SHA-256 of the bytes.
    public var digest: Digest
    /// The number of bytes.
    public var size: Int

    /// Creates a subject.
    public init(id: AssetID, name: String, digest: Digest, size: Int) {
      self.id = id
      self.name = name
      self.digest = digest
      self.size = size
    }
  }

  /// The rendition that a job works on instead of the asset's own bytes.
  public struct Rendition: Hashable, Sendable, Codable {
    /// The name of the stage that made it.
    public var stage: String
    /// Its name.
    public var name: String
    /// Its media type.
    public var mediaType: String
    /// Its width in pixels.
    public var width: Int
    /// Its height in pixels.
    public var height: Int
    /// The SHA-256 of its bytes.
    public var digest: Digest

    /// Creates a description.
    public init(
      stage: String, name: String, mediaType: String, width: Int, height: Int, digest: Digest
    ) {
      self.stage = stage
      self.name = name
      self.mediaType = mediaType
      self.width = width
      self.height = height
      self.digest = digest
    }
  }

  /// A rendition that is kept from an earlier job, and of which others may be made.
  public struct Kept: Hashable, Sendable, Codable {
    /// Its name.
    public var name: String
    /// Its media type.
    public var mediaType: String
    /// Its width in pixels.
    public var width: Int
    /// Its height in pixels.
    public var height: Int
    /// What it was made of, as the plugin said; `nil` if it said nothing.
    public var from: String?
    /// An absolute path to its bytes, for reading only.
    public var path: String

    /// Creates a description.
    public init(
      name: String, mediaType: String, width: Int, height: Int, from: String?, path: String
    ) {
      self.name = name
      self.mediaType = mediaType
      self.width = width
      self.height = height
      self.from = from
      self.path = path
    }
  }

  /// The version of the request format: 1.
  public var version: Int
  /// The job's name, unique while the program runs.
  public var job: String
  /// The asset of the job.
  public var asset: Subject
  /// An absolute path to the bytes of the asset, or of `rendition`, for reading only.
  public var input: String
  /// An absolute path to an empty folder for the plugin's files.
  public var output: String
  /// The stage's options, with the schema's defaults filled in.
  public var options: JSONValue
  /// The names of the parts to make, at least one; `nil` for all. The others are kept from an
  /// earlier job.
  public var wanted: [String]?
  /// The pictures among the renditions that are kept, if the plugin's manifest asks for them.
  public var kept: [Kept]?
  /// The facts of needed stages, by stage name.
  public var facts: [String: JSONValue]
  /// What `input` is, if not the asset's own bytes.
  public var rendition: Rendition?
  /// The time limit, in seconds from now.
  public var deadline: Double?

  /// Creates a request.
  public init(
    version: Int = PluginRequest.currentVersion, job: String, asset: Subject, input: String,
    output: String, options: JSONValue, wanted: [String]? = nil, kept: [Kept]? = nil,
    facts: [String: JSONValue], rendition: Rendition? = nil, deadline: Double? = nil
  ) {
    self.version = version
    self.job = job
    self.asset = asset
    self.input = input
    self.output = output
    self.options = options
    self.wanted = wanted
    self.kept = kept
    self.facts = facts
    self.rendition = rendition
    self.deadline = deadline
  }
}
