public import PipelineModel

/// One job, as the program hands it to a plugin.
public struct PluginRequest: Hashable, Sendable, Codable {
  /// The version of these messages.
  public static let currentVersion = 1

  /// The asset that a job is for. Plugins of scope `original` see one of those that share the bytes.
  public struct Subject: Hashable, Sendable, Codable {
    /// The asset's key.
    public var id: AssetID
    /// The file's name when it was imported; bytes that are not UTF-8 percent-encoded.
    public var name: String
    /// The SHA-256 of the bytes.
    public var digest: Digest
    /// The number of bytes.
    public var size: Int

    /// Makes a subject.
    public init(id: AssetID, name: String, digest: Digest, size: Int) {
      self.id = id
      self.name = name
      self.digest = digest
      self.size = size
    }
  }

  /// The version of these messages: 1.
  public var version: Int
  /// A name for the job, unique while the program runs.
  public var job: String
  /// What the job is about.
  public var asset: Subject
  /// An absolute path to the bytes; to be read only.
  public var input: String
  /// An absolute path to an empty folder for the plugin's files.
  public var output: String
  /// The stage's options with the schema's defaults filled in.
  public var options: JSONValue
  /// The facts of needed stages, by stage name.
  public var facts: [String: JSONValue]
  /// Seconds from now after which the job is given up.
  public var deadline: Double?

  /// Makes a request.
  public init(
    version: Int = PluginRequest.currentVersion, job: String, asset: Subject, input: String,
    output: String, options: JSONValue, facts: [String: JSONValue], deadline: Double? = nil
  ) {
    self.version = version
    self.job = job
    self.asset = asset
    self.input = input
    self.output = output
    self.options = options
    self.facts = facts
    self.deadline = deadline
  }
}
