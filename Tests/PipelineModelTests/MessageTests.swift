import PipelineModel
import PipelinePlugin
import Testing

@Suite("Messages of host and plugin", .timeLimit(.minutes(1)))
struct MessageTests {
  static let manifest = PluginManifest(
    id: "sample", version: "1.2", outputVersion: 3, scope: .asset,
    options: ["type": "object", "properties": ["size": ["type": "integer", "default": 1]]],
    accepts: ["image/*"], facts: ["width"], makesRenditions: true, estimates: true,
    runtime: "decoder 1")

  static func request() throws -> PluginRequest {
    let id = try #require(AssetID("018bcfe5-68ab-7cde-8f01-23456789abcd"))
    let digest = try #require(Digest(String(repeating: "5a", count: 32)))
    return PluginRequest(
      job: "7", asset: .init(id: id, name: "a%FF.jpg", digest: digest, size: 9), input: "/in",
      output: "/out", options: ["size": 2], facts: ["identify": ["width": 3]], deadline: 1.5)
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
    #expect(try JSONText.decode(PluginManifest.self, from: text) == Self.manifest)
    let newer = try JSONText.decode(PluginManifest.self, from: later(Self.manifest))
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
    #expect(try JSONText.decode(PluginResult.self, from: text) == result)
  }

  @Test("Members of a later version in a result are ignored")
  func laterResults() throws {
    for case .failed(let failure) in Self.results {
      let newer = try JSONText.decode(PluginResult.self, from: later(PluginResult.failed(failure)))
      #expect(newer == .failed(failure))
    }
    let newer = try JSONText.decode(PluginResult.self, from: later(Self.results[1]))
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
    #expect(try JSONText.decode(PluginResult.self, from: #"{"outcome":"done"}"#) == .done())
  }

  @Test(
    "An answer that says nothing, or something else, is refused",
    arguments: [
      "{}", #"{"outcome":"perhaps"}"#, #"{"outcome":"skipped"}"#, #"{"outcome":"failed"}"#,
      #"{"outcome":"failed","failure":{"class":"odd","reason":""}}"#, "[]",
      #"{"outcome":"done","renditions":[{"name":"a"}]}"#,
    ])
  func badResults(text: String) {
    #expect(throws: DecodingError.self) { try JSONText.decode(PluginResult.self, from: text) }
  }
}
