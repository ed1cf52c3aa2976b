import Catalog
import Configuration
import PipelineModel
import PipelinePlugin
import Records
import Testing

@testable import Engine

@Suite("Plans of stages", .timeLimit(.minutes(1)))
struct StagePlanTests {
  let fixture: EngineFixture

  init() throws { fixture = try EngineFixture() }

  private func backend(
    _ id: String, accepts: [String]? = nil, version: Int = 1,
    scope: PluginManifest.Scope = .original
  ) -> FakeBackend {
    FakeBackend(
      FakeBackend.manifest(id, accepts: accepts, outputVersion: version, scope: scope)
    ) { _, _ in .done() }
  }

  /// identify ← thumbs ← sheet, and other beside them.
  private func fingerprints(
    thumbs options: JSONValue = [:], version: Int = 1, other: JSONValue = ["name": "other"],
    _ change: (inout [StageConfiguration]) -> Void = { _ in }
  ) throws -> [String: Fingerprint] {
    var stages: [StageConfiguration] = [
      .stage("identify", "identify"),
      .stage("thumbs", "thumb", needs: ["identify"]) { $0.options = options },
      .stage("sheet", "sheet", needs: ["thumbs"]),
      .stage("other", "thumb", needs: ["identify"]) { $0.options = other },
    ]
    change(&stages)
    let plan = try fixture.plan(
      stages,
      [
        backend("identify"), backend("thumb", accepts: ["image/*"], version: version),
        backend("sheet"),
      ])
    return Dictionary(
      uniqueKeysWithValues: plan.stages.map { ($0.name, $0.definition.fingerprint) })
  }

  private func changed(
    _ before: [String: Fingerprint], _ after: [String: Fingerprint]
  ) -> Set<String> {
    Set(before.keys.filter { before[$0] != after[$0] })
  }

  @Test("One changed option changes exactly its stage and those that need it")
  func oneOption() throws {
    let before = try fingerprints()
    #expect(changed(before, try fingerprints(thumbs: ["size": 300])) == ["thumbs", "sheet"])
    #expect(changed(before, try fingerprints(other: ["name": "y"])) == ["other"])
    #expect(changed(before, try fingerprints()) == [])
  }

  @Test("A raised output version changes all stages of the plugin and those that need them")
  func outputVersion() throws {
    #expect(
      changed(try fingerprints(), try fingerprints(version: 2)) == ["thumbs", "sheet", "other"])
  }

  @Test("What does not change the output does not change a fingerprint")
  func indifferent() throws {
    let before = try fingerprints(thumbs: ["size": 300, "name": "y"])
    #expect(changed(before, try fingerprints(thumbs: ["name": "y", "size": 300.0])) == [])
    let defaults: JSONValue = ["size": 256, "name": "x"]
    #expect(changed(try fingerprints(), try fingerprints(thumbs: defaults)) == [])
    let list: JSONValue = ["list": [["n": 1]]]
    let spelled: JSONValue = ["list": [["q": 80, "n": 1]]]
    #expect(changed(try fingerprints(thumbs: list), try fingerprints(thumbs: spelled)) == [])
    let other = try fingerprints {
      for index in $0.indices {
        $0[index].concurrency = 7
        $0[index].attempts = 9
        $0[index].storage = .file
        $0[index].isolation = .none
        $0[index].limits.time = TimeSpan(milliseconds: 5)
        $0[index].limits.memory = ByteSize(bytes: 5)
      }
      $0.swapAt(1, 3)
    }
    #expect(changed(try fingerprints(), other) == [])
  }

  @Test("Two stages that do the same are refused")
  func sameWork() throws {
    let error = try #require(throws: ConfigurationErrors.self) {
      try fingerprints(thumbs: ["size": 256], other: [:])
    }
    #expect(error.errors.first?.pointer?.hasPrefix("/stages/3") == true)
  }

  @Test("The order of elements in a list does matter")
  func listOrder() throws {
    let one: JSONValue = ["list": [["n": 1], ["n": 2]]]
    let two: JSONValue = ["list": [["n": 2], ["n": 1]]]
    #expect(
      changed(try fingerprints(thumbs: one), try fingerprints(thumbs: two)) == ["thumbs", "sheet"])
  }

  @Test("A stage whose plugin says what it accepts needs identify, which is added where it lacks")
  func implicitIdentify() throws {
    let backends = [
      backend("identify"), backend("thumb", accepts: ["image/*"]), backend("sheet"),
    ]
    let plan = try fixture.plan([.stage("t", "thumb"), .stage("s", "sheet")], backends)
    #expect(plan.stages.map(\.name) == ["identify", "t", "s"])
    #expect(plan.stages.map(\.definition.needs) == [[], ["identify"], []])
    // One that is configured serves, whatever its name.
    let named = try fixture.plan([.stage("t", "thumb"), .stage("look", "identify")], backends)
    #expect(named.stages.map(\.name) == ["look", "t"])
    #expect(named.stages[1].definition.needs == ["look"])
    // Named or not, the need is the same one.
    let spelled = try fixture.plan(
      [.stage("look", "identify"), .stage("t", "thumb", needs: ["look"])], backends)
    #expect(
      spelled.stages[1].definition.fingerprint == named.stages[1].definition.fingerprint)
    #expect(spelled.stages[1].definition.needs == ["look"])
    // Where another stage has its name, the added one gets another.
    let taken = try fixture.plan(
      [.stage("identify", "sheet"), .stage("t", "thumb")], backends)
    #expect(taken.stages.map(\.name) == ["identify-implicit", "identify", "t"])
    // Nobody needs it.
    let none = try fixture.plan([.stage("s", "sheet")], backends)
    #expect(none.stages.map(\.name) == ["s"])
  }

  @Test("What needs something of an asset belongs to the asset itself")
  func scopes() throws {
    let plan = try fixture.plan(
      [.stage("b", "sheet", needs: ["a"]), .stage("a", "name"), .stage("c", "sheet")],
      [backend("sheet"), backend("name", scope: .asset)])
    let scopes = plan.stages.map { ($0.name, $0.definition.isAssetScoped) }
    #expect(scopes.map(\.0) == ["a", "b", "c"])
    #expect(scopes.map(\.1) == [true, true, false])
  }

  @Test("An option that makes results an asset's does so where it differs from its default")
  func assetOptions() throws {
    var manifest = FakeBackend.manifest("name")
    manifest.options = [
      "type": "object", "additionalProperties": false,
      "properties": ["pattern": ["type": "string", "default": ""]],
    ]
    manifest.assetOptions = ["pattern"]
    let backend = FakeBackend(manifest) { _, _ in .done() }
    let plan = try fixture.plan(
      [
        .stage("a", "name") { $0.options = ["pattern": ""] },
        .stage("b", "name") { $0.options = ["pattern": "x"] },
      ],
      [backend])
    #expect(plan.stages.map(\.definition.isAssetScoped) == [false, true])
    let plain = try fixture.plan([.stage("a", "name")], [backend])
    #expect(plain.stages.map(\.definition.isAssetScoped) == [false])
  }

  @Test("Attempts, limits and versions are handed to the ledger")
  func definition() throws {
    let stage = StageConfiguration.stage("s", "sheet") {
      $0.attempts = 7
      $0.limits.time = TimeSpan(milliseconds: 90_000)
      $0.limits.memory = ByteSize(bytes: 1 << 30)
    }
    let definition = try #require(
      try fixture.plan([stage], [backend("sheet")]).stages.first?.definition)
    #expect(definition.attempts == 7 && definition.plugin == "sheet")
    #expect(definition.runtime.contains("sheet 1") && definition.runtime.contains("fake 1"))
    let limits = try JSONText.decode(JSONValue.self, from: definition.limits)
    #expect(limits["time"] == "90s" && limits["memory"] == "1GiB")
  }

  @Test("Recorded with the limits is the memory that a worker may use where none is configured")
  func recordedBudget() throws {
    func memory(_ budget: Int, _ change: (inout StageConfiguration) -> Void = { _ in }) throws
      -> String?
    {
      let plan = try fixture.plan(
        [.stage("s", "sheet") { change(&$0) }], [backend("sheet")], budget: budget)
      let definition = try #require(plan.stages.first?.definition)
      return try JSONText.decode(JSONValue.self, from: definition.limits)["memory"]?.string
    }
    #expect(try memory(1000 << 20) == "1000MiB")
    #expect(try memory(1000 << 20) { $0.limits.memory = ByteSize(bytes: 1 << 20) } == "1MiB")
    // In the program itself nobody watches over it.
    #expect(try memory(1000 << 20) { $0.isolation = .none } == nil)
    // Half of a machine's memory is not the same to the byte with every kernel.
    let halves = [8_123_456_789, 8_112_345_678].map { ByteSize(bytes: $0) }
    let recorded = halves.map { StagePlan.recorded($0, standard: $0) }
    #expect(recorded == [ByteSize(bytes: 15 << 29), ByteSize(bytes: 15 << 29)])
    #expect(StagePlan.recorded(halves[0], standard: halves[1]) == halves[0])
  }

  @Test("A plugin or an option that is not known is refused with its place")
  func unknown() throws {
    let plugin = try #require(throws: ConfigurationErrors.self) {
      try fixture.plan([.stage("s", "shet")], [backend("sheet")])
    }
    #expect(plugin.errors.first?.pointer == "/stages/0/plugin")
    #expect(plugin.errors.first?.message.contains("“shet”") == true)
    let option = try #require(throws: ConfigurationErrors.self) {
      try fixture.plan(
        [.stage("s", "sheet") { $0.options = ["sise": 1] }], [backend("sheet")])
    }
    #expect(option.errors.first?.pointer == "/stages/0/options/sise")
    #expect(throws: EngineError.self) {
      try fixture.plan([.stage("t", "thumb")], [backend("thumb", accepts: ["image/*"])])
    }
  }
}
