import PipelineModel
import PipelinePlugin
import Testing

@Suite("Messages of host and plugin", .timeLimit(.minutes(1)))
struct MessageTests {
  static let manifest = PluginManifest(
    id: "sample", version: "1.2", outputVersion: 3, scope: .asset,
    options: ["type": "object", "properties": ["size": ["type": "integer", "default": 1]]],
    accepts: ["image/*"], facts: ["width"], makesRenditions: true,
    parts: .init(option: "sizes", facts: ["width"]),
    estimates: true, runtime: "decoder 1")

  static func request() throws -> PluginRequest {
    let id = try #require(AssetID("018bcfe5-68ab-7cde-8f01-23456789abcd"))
    let digest = try #require(Digest(String(repeating: "5a", count: 32)))
    return PluginRequest(
      job: "7", asset: .init(id: id, name: "a%FF.jpg", digest: digest, size: 9), input: "/in",
      output: "/out", options: ["size": 2], wanted: ["grid"], facts: ["identify": ["width": 3]],
      deadline: 1.5)
  }

  static let results: [PluginResult] = [
    .done(),
    .done(
      facts: ["a": [1, 2.5]],
      renditions: [
        PluginRendition(
          name: "grid", path: "grid.jpg", mediaType: "image/jpeg", width: 1, height: 2,
          from: "preview"),
        PluginRendition(name: "b", path: "b", mediaType: "image/png", width: 3, height: 4),
      ]),
    .skipped(reason: "Nothing to do."),
    .failed(PluginFailure(.permanent, "Broken.")), .failed(PluginFailure(.transient, "Full.")),
    .failed(PluginFailure(.environment, "No decoder.")),
  ]

  /// The value as JSON with a member that this version does not know, in every object.
  private func later(_ value: some Encodable) throws -> String {
    func extend(_ value: JSONValue) -> JSONValue {
      switch value {
      case .object(let members):
        .object(members.mapValues(extend).merging(["later": ["x": [1]]]) { $1 })
      case .array(let elements): .array(elements.map(extend))
      default: value
      }
    }
    let json = try JSONText.decode(JSONValue.self, from: JSONText.encode(value))
    return try JSONText.encode(extend(json))
  }

  @Test("A manifest survives, and members of a later version are ignored")
  func manifests() throws {
    let text = try JSONText.encode(Self.manifest)
    #expect(try PluginManifest(PluginMessage.value(of: text.utf8)) == Self.manifest)
    let newer = try PluginManifest(PluginMessage.value(of: later(Self.manifest).utf8))
    #expect(newer.id == "sample" && newer.scope == .asset && newer.accepts == ["image/*"])
    // A schema is open: what it holds is kept as it is.
    #expect(newer.options["later"] != nil)
  }

  @Test("A request survives, and members of a later version are ignored")
  func requests() throws {
    let request = try Self.request()
    let text = try JSONText.encode(request)
    #expect(try JSONText.decode(PluginRequest.self, from: text) == request)
    let newer = try JSONText.decode(PluginRequest.self, from: later(request))
    #expect(newer.asset == request.asset && newer.input == "/in" && newer.version == 1)
    #expect(newer.facts["identify"]?["width"] == 3)
  }

  @Test("A result survives", arguments: Self.results)
  func survivingResults(result: PluginResult) throws {
    let text = try JSONText.encode(result)
    #expect(try read(text) == result)
  }

  @Test("Members of a later version in a result are ignored")
  func laterResults() throws {
    for case .failed(let failure) in Self.results {
      let newer = try read(later(PluginResult.failed(failure)))
      #expect(newer == .failed(failure))
    }
    let newer = try read(later(Self.results[1]))
    guard case .done(let facts, let renditions) = newer,
      case .done(_, let expected) = Self.results[1]
    else {
      Issue.record("“\(newer)” is no result of a job that is done")
      return
    }
    #expect(renditions == expected && facts["a"] == [1, 2.5])
  }

  @Test("Facts and renditions may be left out")
  func shortResult() throws {
    #expect(try read(#"{"outcome":"done"}"#) == .done())
  }

  @Test(
    "An answer that says nothing, or something else, is refused",
    arguments: [
      "{}", #"{"outcome":"perhaps"}"#, #"{"outcome":"skipped"}"#, #"{"outcome":"failed"}"#,
      #"{"outcome":"failed","failure":{"class":"odd","reason":""}}"#, "[]",
      #"{"outcome":"done","renditions":[{"name":"a"}]}"#, #"{"outcome":"done","renditions":{}}"#,
    ])
  func badResults(text: String) {
    #expect(throws: MessageError.self) { try read(text) }
  }

  private func read(_ text: String) throws -> PluginResult {
    try PluginResult(PluginMessage.value(of: text.utf8))
  }

  @Test("Every message of a plugin survives")
  func messages() throws {
    let messages: [PluginMessage] =
      [
        .manifest(protocol: 1, Self.manifest), .created,
        .failed(PluginFailure(.transient, "Full.")),
        .estimates([1, nil, 4096]), .log(.warning, "a\nb"), .progress(0.5), .limit(cpu: 2),
        .unsupported,
      ] + Self.results.map { .result(job: "7", $0) }
    for message in messages {
      #expect(try PluginMessage(line: Array(JSONText.encode(message).utf8)) == message)
    }
  }

  @Test(
    "A message that can't be used says where and why",
    arguments: [
      (
        #"{"type":"manifest","protocol":"1","manifest":{}}"#, "a whole number is expected",
        "protocol"
      ),
      (
        #"{"type":"manifest","protocol":1,"manifest":{"id":7}}"#, "a string is expected",
        "manifest, id"
      ),
      (#"{"type":"failed","failure":{"class":"odd","reason":""}}"#, "“odd”", "failure, class"),
      (#"{"type":"hum\u001b"}"#, "“hum\\u{1b}” is not a message type", "type"),
      (
        #"{"type":"result","job":"1","result":{"outcome":"done","renditions":[{"name":"a"}]}}"#,
        "“path” is missing", "result, renditions, 1"
      ),
      (#"{"type":"result","job":"1","result":{"outcome":"x"}}"#, "“x” is not done", "outcome"),
    ])
  func reasons(text: String, reason: String, place: String) {
    let error = #expect(throws: MessageError.self) { try PluginMessage(line: Array(text.utf8)) }
    let message = error?.message ?? ""
    #expect(message.hasPrefix(reason) && message.hasSuffix("\(place)”"), "\(message)")
  }

  @Test("A message that is too deep or too long is refused, and a line of a log is cut")
  func bounds() throws {
    func facts(_ value: String) -> [UInt8] {
      Array(#"{"type":"result","job":"1","result":{"outcome":"done","facts":\#(value)}}"#.utf8)
    }
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    // The message and its result are two levels.
    let most = PluginMessage.greatestDepth - 2
    #expect(throws: Never.self) { try PluginMessage(line: facts(nested(most))) }
    for depth in [most + 1, 400_000] {
      let error = #expect(throws: MessageError.self) {
        try PluginMessage(line: facts(nested(depth)))
      }
      #expect(error?.message.contains("deep") == true)
    }
    let long = #""\#(String(repeating: "x", count: PluginMessage.longestLine))""#
    #expect(throws: MessageError.self) { try PluginMessage(line: facts(long)) }
    let log = #"{"type":"log","message":"\#(String(repeating: "y", count: 100_000))"}"#
    guard case .log(.info, let text) = try PluginMessage(line: Array(log.utf8)) else {
      Issue.record("A log is no log.")
      return
    }
    #expect(text.count == PluginMessage.longestLog)
  }

  @Test("A message of more values than it may have is refused before they are made")
  func manyValues() throws {
    func message(_ count: Int) -> [UInt8] {
      let zeros = Array(repeating: "0", count: count).joined(separator: ",")
      return Array(
        #"{"type":"result","job":"1","result":{"outcome":"done","facts":{"a":[\#(zeros)]}}}"#.utf8)
    }
    // The message, its three members, the result's two and the list are values, too.
    let most = PluginMessage.mostValues - 7
    #expect(throws: Never.self) { try PluginMessage(line: message(most)) }
    let error = #expect(throws: MessageError.self) { try PluginMessage(line: message(most + 1)) }
    #expect(error?.message.contains("more than 100000 values") == true)
  }
}
