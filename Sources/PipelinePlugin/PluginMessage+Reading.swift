package import PipelineModel

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

  private init(_ value: JSONValue) throws(MessageError) {
    let members = try MessageMembers(value, "message")
    switch try members.text("type") {
    case "manifest":
      self = .manifest(
        protocol: try members.whole("protocol"), try PluginManifest(members["manifest"]))
    case "created":
      self = .created
    case "failed":
      self = .failed(try PluginFailure(members["failure"]))
    case "estimates":
      self = .estimates(try members.list("bytes").map(\.integer))
    case "log":
      let level = members["level"]?.string
      self = .log(
        PluginHost.LogLevel.allCases.first { $0.name == level } ?? .info,
        try members.text("message").shortened(to: Self.longestLog))
    case "progress":
      self = .progress(try members.number("fraction"))
    case "result":
      self = .result(job: try members.text("job"), try PluginResult(members["result"]))
    case "unsupported":
      self = .unsupported
    case let other:
      throw MessageError("\(quoted(other)) is not a message type")
    }
  }
}

extension PluginManifest {
  /// Reads a manifest that a plugin wrote.
  package init(_ value: JSONValue?) throws(MessageError) {
    let members = try MessageMembers(value, "manifest")
    guard let options = members["options"] else { throw MessageError("“options” is missing") }
    self.init(
      id: try members.text("id"), version: try members.text("version"),
      outputVersion: try members.whole("outputVersion"), scope: try members.choice("scope"),
      options: options,
      assetOptions: members["assetOptions"] == nil ? [] : try members.texts("assetOptions"),
      accepts: members["accepts"] == nil ? nil : try members.texts("accepts"),
      facts: try members.texts("facts"), makesRenditions: try members.truth("makesRenditions"),
      estimates: try members.truth("estimates"), runtime: try members.text("runtime"))
  }
}

extension PluginResult {
  /// Reads a result that a plugin wrote.
  package init(_ value: JSONValue?) throws(MessageError) {
    let members = try MessageMembers(value, "result")
    switch try members.text("outcome") {
    case "done":
      var renditions: [PluginRendition] = []
      if members["renditions"] != nil {
        for rendition in try members.list("renditions") {
          renditions.append(try PluginRendition(rendition))
        }
      }
      self = .done(facts: members["facts"] ?? [:], renditions: renditions)
    case "skipped":
      self = .skipped(reason: try members.text("reason"))
    case "failed":
      self = .failed(try PluginFailure(members["failure"]))
    case let other:
      throw MessageError("“outcome” is \(quoted(other)), not done, skipped or failed")
    }
  }
}

extension PluginRendition {
  init(_ value: JSONValue?) throws(MessageError) {
    let members = try MessageMembers(value, "rendition")
    self.init(
      name: try members.text("name"), path: try members.text("path"),
      mediaType: try members.text("mediaType"), width: try members.whole("width"),
      height: try members.whole("height"),
      from: members["from"] == nil ? nil : try members.text("from"))
  }
}

extension PluginFailure {
  /// Reads a failure that a plugin wrote.
  package init(_ value: JSONValue?) throws(MessageError) {
    let members = try MessageMembers(value, "failure")
    self.init(try members.choice("class"), try members.text("reason"))
  }

  /// The most characters of a reason that are stored: it is a sentence for the user.
  package static let longestReason = 2000

  /// A reason, shortened for storage.
  package static func kept(_ reason: String) -> String { reason.shortened(to: longestReason) }

  /// The failure with its reason shortened for storage.
  package var kept: PluginFailure { PluginFailure(self.class, Self.kept(reason)) }
}
