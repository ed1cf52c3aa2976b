import Foundation
import PipelineModel
import Testing

@testable import Configuration

@Suite(.timeLimit(.minutes(1))) struct DecodingTests {
  @Test("The smallest configuration has every default")
  func defaults() throws {
    let configuration = try decode(#"{"library": "library"}"#)
    #expect(configuration.file == file)
    #expect(configuration.folder == BytePath("/home/me/pictures"))
    #expect(configuration.library == BytePath("/home/me/pictures/library"))
    #expect(configuration.catalog == nil)
    #expect(configuration.sources.isEmpty && configuration.stages.isEmpty)
    #expect(configuration.plugins.isEmpty)
    #expect(configuration.memoryBudget.bytes == Machine.physicalMemory / 2)
    #expect(configuration.reserve == nil)
    #expect(configuration.rescan == TimeSpan(milliseconds: 300_000))
    #expect(GroupPolicy(configuration.groups) == .standard)
    #expect(GroupPolicy.standard[.sidecar] == 86_400_000_000)
  }

  @Test("Rules for groups say what is joined; an empty list joins nothing")
  func groups() throws {
    func policy(_ rules: String) throws -> GroupPolicy {
      GroupPolicy(try decode(#"{"library": "l", "groups": \#(rules)}"#).groups)
    }
    #expect(try policy("[]").text == "")
    let some = try policy(#"[{"kind": "sidecar"}, {"kind": "rawAndJPEG", "within": "10s"}]"#)
    #expect(some[.sidecar] == GroupPolicy.standard[.sidecar])
    #expect(some[.rawAndJPEG] == 10_000_000 && some[.livePhoto] == nil)
    // Times join no bursts, unless it is said how near.
    #expect(try policy(#"[{"kind": "burst"}]"#)[.burst] == 0 && some[.burst] == nil)
    #expect(try policy(#"[{"kind": "burst", "within": "250ms"}]"#)[.burst] == 250_000)
  }

  @Test("A source has every default")
  func sourceDefaults() throws {
    let source = try #require(try decode(withSource("")).sources.first)
    #expect(source.path == BytePath("/home/me/pictures/inbox"))
    #expect(source.mode == .copy && source.recursive && source.complete == .quiet)
    #expect(source.settle == TimeSpan(milliseconds: 2000))
    #expect(source.include == [.everything] && source.exclude.isEmpty)
    #expect(source.duplicates == .discard && source.take == .auto && source.emptyFolders == .keep)
    #expect(source.maxMissing == 0.5)
  }

  @Test("A stage has every default")
  func stageDefaults() throws {
    let stage = try #require(try decode(withStage("")).stages.first)
    #expect(stage.name == "one" && stage.plugin == "p" && stage.needs.isEmpty)
    #expect(stage.concurrency == Machine.processors && stage.attempts == 3)
    #expect(stage.limits == StageLimits() && stage.allow == StageAllowance())
    #expect(stage.isolation == .process && stage.storage == .auto)
    #expect(stage.options == [:] && stage.command == nil)
  }

  @Test("What a configuration says is what it means")
  func everything() throws {
    let configuration = try decode(
      #"""
      {
        "$schema": "pipeline.schema.json", "library": "/srv/./library/../lib", "catalog": "../db",
        "plugins": ["plugins", "/opt/plugins"], "memoryBudget": "4GiB", "reserve": "0",
        "rescan": "1h",
        "sources": [
          {"path": "in", "mode": "move", "recursive": false, "settle": "250ms",
           "complete": "close", "include": ["*.jpg"], "exclude": ["**/drafts/**"],
           "duplicates": "asset", "take": "copy", "emptyFolders": "remove", "shared": "desk", "maxMissing": 1}
        ],
        "stages": [
          {"name": "b", "plugin": "q", "needs": ["a"], "input": "a/large", "concurrency": 2,
           "timeout": "60s",
           "memory": "1GiB", "attempts": 5, "isolation": "none", "storage": "file",
           "limits": {"cpu": "90s", "outputBytes": "1MiB", "files": 7, "processes": 4,
                      "inputBytes": "2GiB", "pixels": 1000, "frames": 9, "time": "1m"},
           "allow": {"network": true, "exec": true, "read": ["fonts"], "write": ["/var/tmp/w"]},
           "command": ["bin/q", "--fast"], "options": {"x": [1, 2.5, null]}},
          {"name": "a", "plugin": "p", "concurrency": "cpus", "command": "p-plugin"}
        ]
      }
      """#)
    #expect(configuration.library == BytePath("/srv/lib"))
    #expect(configuration.catalog == .folder(BytePath("/home/me/db")))
    #expect(
      configuration.plugins == [BytePath("/home/me/pictures/plugins"), BytePath("/opt/plugins")])
    #expect(configuration.memoryBudget.bytes == 4 << 30 && configuration.reserve?.bytes == 0)
    #expect(configuration.rescan.milliseconds == 3_600_000)

    let source = configuration.sources[0]
    #expect(source.path == BytePath("/home/me/pictures/in"))
    #expect(source.mode == .move && !source.recursive && source.complete == .close)
    #expect(source.settle.milliseconds == 250)
    #expect(source.include.map(\.pattern) == [BytePath("*.jpg")])
    #expect(source.exclude.map(\.pattern) == [BytePath("**/drafts/**")])
    #expect(source.duplicates == .asset && source.take == .copy && source.emptyFolders == .remove)
    #expect(source.maxMissing == 1)

    let stage = configuration.stages[0]
    #expect(stage.needs == ["a"] && stage.concurrency == 2 && stage.attempts == 5)
    #expect(stage.input == [RenditionReference(stage: "a", name: "large")])
    #expect(stage.allNeeds == ["a"] && stage.alternatives.isEmpty)
    #expect(stage.isolation == .none && stage.storage == .file)
    #expect(stage.limits.time?.milliseconds == 60_000 && stage.limits.memory?.bytes == 1 << 30)
    #expect(stage.limits.cpu?.seconds == 90 && stage.limits.outputBytes?.bytes == 1 << 20)
    #expect(stage.limits.files == 7 && stage.limits.processes == 4 && stage.limits.frames == 9)
    #expect(stage.limits.inputBytes?.bytes == 2 << 30 && stage.limits.pixels == 1000)
    #expect(stage.allow.network && stage.allow.exec)
    #expect(stage.allow.read == [BytePath("/home/me/pictures/fonts")])
    #expect(stage.allow.write == [BytePath("/var/tmp/w")])
    #expect(stage.command == ["/home/me/pictures/bin/q", "--fast"])
    #expect(stage.options == ["x": [1, 2.5, .null]])
    #expect(configuration.stages[1].command == ["p-plugin"])
    #expect(configuration.stages[1].concurrency == Machine.processors)
  }

  @Test("The effective configuration decodes to the same configuration and spells all out")
  func effective() throws {
    for text in [InitialConfiguration.text(), withSource(""), withStage(""), fullConfiguration] {
      let configuration = try decode(text)
      let effective = configuration.effective()
      var again = try decode(effective.formatted())
      for index in again.stages.indices {
        let limits = again.stages[index].limits
        again.stages[index].limits = configuration.stages[index].limits
        #expect(limits.time != nil && limits.memory != nil)
      }
      #expect(again == configuration)
      #expect(try decode(effective.formatted()).effective() == effective)
    }
    let source = try decode(withSource("")).effective()["sources"]?.array?.first?.object
    // A key without a default is absent.
    let keys = Set(SourceConfiguration.keys.map(\.name)).subtracting(["shared"])
    #expect(Set(source?.keys.map(\.self) ?? []) == keys)
  }

  @Test("Every stage has limits where the configuration has none, and they are shown")
  func standardLimits() throws {
    var configuration = try decode(withStage(""))
    configuration.memoryBudget = ByteSize(bytes: 6 << 30)
    configuration.stages.append(StageConfiguration(name: "second", plugin: "p"))
    configuration.stages[1].allow.exec = true
    let limits = try #require(configuration.effective()["stages"]?.array).map { $0["limits"] }
    #expect(
      limits == [
        ["time": "10m", "memory": "3GiB", "outputBytes": "1GiB", "files": 10_000, "processes": 1],
        ["time": "10m", "memory": "3GiB", "outputBytes": "1GiB", "files": 10_000, "processes": 64],
      ])
  }

  @Test("A stage's share of the memory is 1 GiB at least, or all where that is less")
  func memoryShare() {
    func share(_ budget: Int, _ stages: Int) -> Int {
      PipelineConfiguration.memoryShare(of: ByteSize(bytes: budget), stages: stages).bytes
    }
    #expect(share(8 << 30, 4) == 2 << 30)
    #expect(share(2 << 30, 4) == 1 << 30)
    #expect(share(300 << 20, 4) == 300 << 20)
    #expect(share(300 << 20, 0) == 300 << 20)
  }

  @Test("The first configuration is right, and names what init makes")
  func initial() throws {
    let configuration = try decode(InitialConfiguration.text())
    #expect(configuration.library == BytePath("/home/me/pictures/library"))
    #expect(configuration.sources.map(\.path) == [BytePath("/home/me/pictures/inbox")])
    #expect(configuration.sources[0].mode == .move)
    #expect(configuration.stages.map(\.name) == ["identify", "thumbnails"])
    #expect(configuration.stages[1].needs == ["identify"])
    let other = try decode(
      InitialConfiguration.text(library: "a \"b\"", inbox: "/x\\y", readsMetadata: true))
    #expect(other.stages.map(\.name) == ["identify", "metadata", "thumbnails"])
    #expect(other.library == BytePath("/home/me/pictures/a \"b\""))
    #expect(other.sources[0].path == BytePath("/x\\y"))
  }

  @Test("The processors counted are those that this process may run on")
  func processors() throws {
    let nproc = Process()
    nproc.executableURL = URL(filePath: "/usr/bin/nproc")
    // Without OMP_NUM_THREADS, which nproc(1) heeds as well.
    nproc.environment = [:]
    let pipe = Pipe()
    nproc.standardOutput = pipe
    try nproc.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    nproc.waitUntilExit()
    let count = Int(String(decoding: output, as: UTF8.self).dropLast())
    #expect(Machine.processors == count)
  }
}

/// A configuration that sets every key to something other than its default.
let fullConfiguration = #"""
  {
    "$schema": "x", "library": "l", "catalog": "c", "plugins": ["p"], "memoryBudget": "1GiB",
    "originals": "s3://bucket/p?region=r", "renditions": "s3://bucket/r", "originalsCache": "1MiB",
    "reserve": "1000", "rescan": "1d", "groups": [{"kind": "sidecar", "within": "5m"}],
    "node": {"name": "photo2", "joins": true},
    "onDemand": {"maxPixelSize": 2000, "cache": "1GiB", "concurrency": 3, "queue": 5},
    "sources": [{"path": "in", "mode": "move", "recursive": false, "settle": "0s",
      "complete": "close", "include": ["a/"], "exclude": ["b"], "duplicates": "file",
      "take": "copy", "emptyFolders": "remove", "shared": "desk", "maxMissing": 0.25}],
    "stages": [{"name": "z", "plugin": "p", "needs": []},
      {"name": "s", "plugin": "q", "needs": ["z"], "input": ["z/large"], "accepts": ["image/*"], "concurrency": 1000, "timeout": "7s",
      "memory": "7MiB", "attempts": 4, "isolation": "none", "storage": "database",
      "limits": {"time": "7s", "cpu": "1s", "memory": "7MiB", "outputBytes": "1", "files": 1,
        "processes": 3, "inputBytes": "1", "pixels": 1, "frames": 1},
      "allow": {"network": true, "exec": true, "read": ["r"], "write": ["w"]},
      "command": ["c", "d"], "options": {"o": 1}}]
  }
  """#
