import Fixtures
import Foundation
import PipelineModel
import Testing

/// What `plugins test` says of plugins that each do one thing wrong, and of those that do none.
@Suite("`plugins test`", .timeLimit(.minutes(4)))
struct PluginCheckTests {
  private let folder: TemporaryFolder
  private let program: BuiltProgram

  init() throws {
    folder = try TemporaryFolder()
    program = BuiltProgram(in: folder.path)
  }

  private var place: URL { URL(filePath: folder.path.description) }

  /// A plugin in Python without an SDK, of replaceable parts.
  struct Sample {
    var manifest = ""
    var work = ""
    var create = #"{"type": "created"}"#
    var unknown = #"{"type": "unsupported"}"#
    var start = ""
    var cancel = "pass"
    var end = ""

    var source: String {
      let body = work.split(separator: "\n").map { "    \($0)\n" }.joined()
      return """
        #!/usr/bin/env python3
        import json, os, signal, sys, time
        \(start)
        M = {"id": "sample", "version": "1", "outputVersion": 1, "scope": "original",
            "options": {"type": "object", "properties": {}, "additionalProperties": False},
            "facts": ["size"], "makesRenditions": False, "estimates": False, "runtime": ""}
        \(manifest)
        jobs, state = 0, {}
        def rendition(name, data, width):
            open(name, "wb").write(data)
            M["x"] = 1
            return {"name": "a", "path": name, "mediaType": "image/png", "width": width, "height": 1}
        def work(request):
            global jobs
            jobs += 1
            path = request["input"]
            size = os.path.getsize(path)
            result = {"outcome": "done", "facts": {"size": size}}
        \(body)    return result
        def answer(message):
            kind = message["type"]
            if kind == "hello": return {"type": "manifest", "protocol": M.pop("protocol", 1), "manifest": M}
            if kind == "create": return \(create)
            if kind == "estimate": return {"type": "estimates", "bytes": [4096]}
            if kind == "process":
                request = message["request"]
                return {"type": "result", "job": request["job"], "result": work(request)}
            return \(unknown)
        for line in sys.stdin:
            message = json.loads(line)
            if message["type"] == "cancel":
                \(cancel)
            else:
                print(json.dumps(answer(message)), flush=True)
        \(end)
        """
    }
  }

  /// Writes a plugin and returns what came of its checks, by their names.
  private func check(
    _ source: String, _ words: [BytePath] = []
  ) throws -> [String: (outcome: String, reason: String)] {
    let script = place.appending(path: "sample.py")
    try Data(source.utf8).write(to: script)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script.path)
    let outcome = try program.run(["plugins", "test", "sample.py", "--json"] + words, within: 120)
    var found: [String: (String, String)] = [:]
    for event in try outcome.events("check") {
      let name = try #require(event["name"]?.string)
      let word = try #require(event["outcome"]?.string)
      found[name] = (word, event["reason"]?.string ?? "")
      #expect((event["advice"]?.string?.isEmpty == false) == (word == "failed"))
    }
    let failed = found.values.filter { $0.0 == "failed" }.count
    #expect(try outcome.event("summary")["failed"]?.integer == failed)
    #expect(outcome.exitCode == (failed == 0 ? 0 : 3), "\(outcome.errors)")
    #expect(found.count == 14)
    return found
  }

  @Test("A plugin that does nothing wrong passes, and its own output folder is its to litter")
  func sound() throws {
    let found = try check(Sample(work: "open('left.tmp', 'w').write('x')").source)
    #expect(found.values.allSatisfy { $0.outcome != "failed" }, "\(found)")
    #expect(found["writing"]?.reason.contains("left.tmp") == true)
    #expect(found["estimates"]?.outcome == "skipped")
  }

  @Test("One that does not start is told by its last words, and nothing else is tried")
  func noStart() throws {
    let found = try check(Sample(start: "import no_such_module").source)
    #expect(found["handshake"]?.reason.contains("No module named 'no_such_module'") == true)
    #expect(found.values.filter { $0.outcome == "skipped" }.count == 13)
  }

  static let faults: [(check: String, sample: Sample, reason: String)] = [
    ("handshake", Sample(manifest: "M['protocol'] = 2"), "version 2"),
    ("manifest", Sample(manifest: "M['facts'] = ['size', 'size']"), "a fact twice"),
    (
      "options", Sample(manifest: "M['options']['properties'] = {'a': {'type': 'string'}}"),
      "has no default"
    ),
    (
      "options",
      Sample(manifest: "M['options']['properties'] = {'a': {'type': 'string', 'default': 1}}"),
      "must be a string"
    ),
    ("options", Sample(manifest: "M['options']['oneOf'] = []"), "not supported"),
    ("good files", Sample(work: "result['facts'] = {'length': size}"), "the fact “length”"),
    (
      "good files", Sample(manifest: "M['accepts'] = ['model/*']"), "no such file to check it with"
    ),
    ("bad files", Sample(work: "if size == 0: os.abort()"), "by SIGABRT"),
    (
      "bad files",
      Sample(
        work: """
          if size == 1:
              failure = {"class": "transient", "reason": "Too short."}
              return {"outcome": "failed", "failure": failure}
          """), "failed as transient"
    ),
    ("same result", Sample(work: "result['facts']['size'] = time.time()"), "the fact “size” is"),
    ("same result", Sample(work: "result['facts']['size'] = jobs"), "the fact “size” is"),
    ("estimates", Sample(manifest: "M['estimates'] = True"), "and gave 1"),
    ("unknown message", Sample(unknown: #"{"type": "created"}"#), "with {\"type\":\"created\"}"),
    (
      "cancelling",
      Sample(
        work: "if 'lost' in state: return {'outcome': 'skipped', 'reason': 'Lost.'}",
        cancel: "state['lost'] = True"), "had a different result"
    ),
    ("end of input", Sample(end: "time.sleep(60)"), "still runs"),
    ("writing", Sample(work: "open(path + '.bak', 'w').write('x')"), "made “1.bak”"),
    ("standard output", Sample(work: "print('hello', flush=True)"), "“hello”"),
  ]

  @Test("One fault is found by the check that is about it", arguments: faults.indices)
  func fault(index: Int) throws {
    let (name, sample, reason) = Self.faults[index]
    let found = try check(sample.source)
    #expect(found[name]?.outcome == "failed", "\(found)")
    #expect(found[name]?.reason.contains(reason) == true, "\(found[name]?.reason ?? "")")
  }

  static let renditions: [(work: String, reason: String)] = [
    ("result['renditions'] = [{**rendition('a.png', b'x', 1), 'path': 'b.png'}]", "has no file"),
    ("result['renditions'] = [rendition('a.png', b'', 1)]", "an empty file"),
    ("result['renditions'] = [rendition('a.png', b'GIF89a', 1)]", "begins like image/gif"),
    (
      "result['renditions'] = [rendition('a.png', open('/dev/null','rb').read() + PNG, 2)]",
      "× 1 pixels"
    ),
    ("result['renditions'] = [{**rendition('a.png', b'x', 1), 'path': '../out/a.png'}]", "outside"),
    ("result['renditions'] = [rendition('a.png', PNG, 1)] * 2", "two renditions are named"),
    ("return {'outcome': 'skipped', 'reason': path}", "the path of the request"),
    ("return {'outcome': 'skipped', 'reason': 'a\\nb'}", "not one line of text"),
  ]

  @Test("Results and the files that they name are looked at", arguments: renditions.indices)
  func result(index: Int) throws {
    let (work, reason) = Self.renditions[index]
    let png = "PNG = b'\\x89PNG\\r\\n\\x1a\\n' + bytes(11) + b'\\x01' + bytes(3) + b'\\x01'"
    let sample = Sample(manifest: "M['makesRenditions'] = True\n\(png)", work: work)
    let found = try check(sample.source)
    #expect(found["good files"]?.outcome == "failed")
    #expect(
      found["good files"]?.reason.contains(reason) == true, "\(found["good files"] ?? ("", ""))")
  }

  /// What a plugin of two renditions makes when `wanted` and `kept` are those of the request.
  static let lists: [(made: String, reason: String?)] = [
    ("names = wanted or names", nil),
    // It may know nothing of `wanted`.
    ("", nil),
    ("names = [] if wanted else names", "did not make it"),
    (
      "if wanted: return {'outcome': 'skipped', 'reason': 'Nothing.'}",
      "skipped the file: Nothing."
    ),
    ("width = 2 if wanted else 1", "2 × 1 pixels, and among the others image/png of 1 × 1"),
    (
      """
      for other in kept:
          if open(other['path'], 'rb').read() != png(1):
              return {'outcome': 'skipped', 'reason': 'Other bytes.'}
      if wanted and kept:
          failure = {'class': 'permanent', 'reason': 'It got ' + kept[0]['name'] + '.'}
          return {'outcome': 'failed', 'failure': failure}
      """, "failed: It got b."
    ),
    ("names = names + ['c']", "made “c”, which is not in the list “sizes”"),
  ]

  @Test("Renditions that are asked for one by one are asked for alone", arguments: lists.indices)
  func parts(index: Int) throws {
    let (made, reason) = Self.lists[index]
    let manifest = """
      M["makesRenditions"] = True
      M["parts"] = {"option": "sizes", "kept": True}
      M["options"] = {"type": "object", "additionalProperties": False, "properties": {"sizes": {
          "type": "array", "default": [{"name": "a"}, {"name": "b"}],
          "items": {"type": "object", "properties": {"name": {"type": "string"}}}}}}
      def png(width): return b'\\x89PNG\\r\\n\\x1a\\n' + bytes(11) + bytes([width]) + bytes(3) + b'\\x01'
      """
    let work = """
      wanted, kept = request.get('wanted'), request.get('kept') or []
      names, width = [size['name'] for size in request['options']['sizes']], 1
      \(made)
      result['renditions'] = [
          {**rendition(name + '.png', png(width), width), 'name': name} for name in names]
      """
    let found = try #require(try check(Sample(manifest: manifest, work: work).source)["parts"])
    #expect(found.outcome == (reason == nil ? "ok" : "failed"), "\(found)")
    #expect(found.reason.contains(reason ?? "8 renditions made alone"), "\(found)")
  }

  @Test("Files of one's own and options are given to the plugin")
  func filesAndOptions() throws {
    let own = place.appending(path: "own")
    try FileManager.default.createDirectory(at: own, withIntermediateDirectories: false)
    try Data("some bytes".utf8).write(to: own.appending(path: "a.bin"))
    let manifest = """
      M["options"] = {"type": "object", "required": ["depth"], "additionalProperties": False,
                      "properties": {"depth": {"type": "integer"}}}
      """
    let sample = Sample(
      manifest: manifest, work: "result['facts']['size'] = request['options']['depth']")
    let found = try check(sample.source, ["--files", "own", "--options", #"{"depth": 3}"#])
    #expect(found.values.allSatisfy { $0.outcome != "failed" }, "\(found)")
    #expect(found["good files"]?.reason.hasPrefix("8 done") == true)
    let without = try check(sample.source)
    #expect(without["options"]?.reason.contains("needs the key “depth”") == true)
  }

  @Test(
    "What can't be checked is refused",
    arguments: [
      (["nowhere.py"], Int32(1), "nowhere.py"), (["."], 1, "is not a file"),
      (["x.py", "y.py"], 2, "one argument too many"), ([], 2, "PATH is missing"),
      (["x.py", "--into", "y"], 2, "plugins new"),
    ] as [([BytePath], Int32, String)])
  func misuse(words: [BytePath], code: Int32, text: String) throws {
    let outcome = try program.run(["plugins", "test"] + words)
    #expect(outcome.exitCode == code && outcome.errors.contains(text), "\(outcome.errors)")
  }

  @Test(
    "What the program brings along passes",
    arguments: ["identify", "thumbnail"])
  func bundled(id: String) throws {
    let path = BuiltProgram.path.parent.appending(BytePath("libpipeline-\(id).so"))
    let outcome = try program.run(["plugins", "test", path])
    #expect(outcome.exitCode == 0, "\(outcome.output)")
  }
}
