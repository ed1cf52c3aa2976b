import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Hashing
import PipelineModel
import PipelinePlugin
import Records
import Renditions
import Synchronization
import Testing

@testable import Engine

/// A list of sizes that grows, shrinks and changes: only what is new is made.
@Suite("Parts of a stage's options", .timeLimit(.minutes(1)))
struct GrowingTests {
  private let fixture: EngineFixture

  init() throws { fixture = try EngineFixture() }

  /// A plugin that makes a rendition of each of its sizes that is wanted, and each time another one;
  /// none of a side of 0.
  ///
  /// - Parameter during: called with each request before anything is made.
  private func maker(
    during: @escaping @Sendable (PluginRequest) -> Void = { _ in }
  ) -> FakeBackend {
    var manifest = FakeBackend.manifest("maker")
    manifest.facts = ["job", "made", "first"]
    manifest.options = [
      "type": "object", "additionalProperties": false,
      "properties": [
        "quality": ["type": "integer", "default": 80],
        "sizes": [
          "type": "array", "default": [["name": "a", "side": 1]],
          "items": [
            "type": "object",
            "properties": [
              "name": ["type": "string"], "side": ["type": "integer"],
              "padding": ["type": "integer", "default": 100],
            ],
          ],
        ],
      ],
    ]
    manifest.parts = .init(option: "sizes", facts: ["made"])
    let made = Mutex(0)
    return FakeBackend(manifest) { request, _ in
      let number = made.withLock { made in
        made += 1
        return made
      }
      during(request)
      let names = (request.options["sizes"]?.array ?? []).filter { $0["side"] != 0 }
        .compactMap { $0["name"]?.string }
        .filter { request.wanted?.contains($0) ?? true }
      if names.isEmpty { return .skipped(reason: "It has no size.") }
      for name in names {
        writeOutput(Array("\(name) by job \(number) for \(request.asset.id)".utf8), name, request)
      }
      var facts: [String: JSONValue] = [
        "job": .integer(number),
        "made": .object(Dictionary(uniqueKeysWithValues: names.map { ($0, .integer(number)) })),
      ]
      // As a fact that only some sizes show.
      if names.contains("a") { facts["first"] = .integer(number) }
      return .done(facts: .object(facts), renditions: names.map { rendition($0, at: $0) })
    }
  }

  private func stage(
    _ sizes: [String: Int], quality: Int? = nil, name: String = "s",
    storage: StageConfiguration.Storage = .auto
  ) -> StageConfiguration {
    .stage(name, "maker", width: 1) {
      $0.storage = storage
      var options: [String: JSONValue] = [
        "sizes": .array(
          sizes.sorted { $0.key < $1.key }.map {
            ["name": .string($0.key), "side": .integer($0.value)]
          })
      ]
      options["quality"] = quality.map { .integer($0) }
      $0.options = .object(options)
    }
  }

  /// The renditions of a stage by name, with what is in them.
  private func texts(_ asset: AssetID, _ stage: String = "s") throws -> [String: String] {
    var texts: [String: String] = [:]
    for record in try fixture.renditions(of: asset) where record.stage == stage {
      let bytes =
        if let path = record.path {
          try Descriptor.open(fixture.temporary.appending(BytePath(path)), flags: O_RDONLY)
            .readToEnd()
        } else {
          try #require(try fixture.reader.renditionBytes(record.id))
        }
      #expect(SHA256.digest(of: bytes) == record.digest && bytes.count == record.bytes)
      #expect(!record.isStale)
      texts[record.name] = String(decoding: bytes, as: UTF8.self)
    }
    return texts
  }

  private func facts(_ asset: AssetID, _ stage: String = "s") throws -> JSONValue? {
    try fixture.jobs(of: asset)[stage]?.facts
  }

  private func keys(_ asset: AssetID) throws -> [String: Int64] {
    Dictionary(uniqueKeysWithValues: try fixture.renditions(of: asset).map { ($0.name, $0.id) })
  }

  /// Whether only the files that rows name are there, under the names that the format says.
  private func checkFiles(_ asset: AssetID) throws {
    let records = try fixture.renditions(of: asset)
    let paths = records.compactMap(\.path)
    #expect(Set(try fixture.files("renditions").map(\.description)) == Set(paths))
    for path in paths {
      let file = try Descriptor.open(fixture.temporary.appending(BytePath(path)), flags: O_RDONLY)
      #expect(try file.status().links == 1)
    }
    #expect(try fixture.reader.unnamedBytes(after: nil, limit: 9)?.count ?? 0 == 0)
  }

  private static let storages: [StageConfiguration.Storage] = [.database, .file]

  @Test("A new size is made alone, and the others stay as they are", arguments: storages)
  func grown(storage: StageConfiguration.Storage) throws {
    let asset = try fixture.add("x")
    let maker = maker()
    try fixture.run([stage(["a": 1, "b": 2], storage: storage)], [maker])
    let before = try texts(asset)
    let rows = try keys(asset)
    try fixture.run([stage(["a": 1, "b": 2, "c": 3], storage: storage)], [maker])
    #expect(maker.requests.map(\.wanted) == [nil, ["c"]])
    #expect(maker.requests.last?.options["sizes"]?.array?.count == 3)
    let after = try texts(asset)
    #expect(after == before.merging(["c": "c by job 2 for \(asset)"]) { $1 })
    #expect(try keys(asset).filter { $0.key != "c" } == rows)
    #expect(try facts(asset) == ["job": 2, "first": 1, "made": ["a": 1, "b": 1, "c": 2]])
    try checkFiles(asset)
    let path = try fixture.renditions(of: asset).compactMap(\.path).first
    let plan = try fixture.plan([stage(["a": 1, "b": 2, "c": 3], storage: storage)], [maker])
    if storage == .file {
      #expect(path?.contains(plan.stages[0].definition.fingerprint.short) == true)
    }
    #expect(try fixture.run([stage(["a": 1, "b": 2, "c": 3], storage: storage)], [maker]).isEmpty)
  }

  /// The maker with copies of what is kept, whose texts it reports.
  private func reader(_ given: GivenTexts) -> FakeBackend {
    var manifest = maker().manifest
    manifest.parts?.kept = true
    let work = maker { request in
      let found = (request.kept ?? []).map { kept in
        let file = BytePath(kept.path)
        let bytes = try? Descriptor.openFolder(file.parent)
          .readFile(file.lastComponent, limit: 1 << 20)
        return (kept.name, String(decoding: bytes ?? [], as: UTF8.self))
      }
      given.add(Dictionary(uniqueKeysWithValues: found))
    }.work
    return FakeBackend(manifest, work: work)
  }

  @Test("A plugin that asks for what is kept gets copies of it", arguments: storages)
  func copies(storage: StageConfiguration.Storage) throws {
    let asset = try fixture.add("x")
    let given = GivenTexts()
    let reader = reader(given)
    try fixture.run([stage(["a": 1, "b": 2], storage: storage)], [reader])
    let before = try texts(asset)
    try fixture.run([stage(["a": 1, "b": 2, "c": 3], storage: storage)], [reader])
    #expect(given.all == [[:], before])
    let kept = try #require(reader.requests.last?.kept)
    #expect(reader.requests.first?.kept == nil)
    #expect(kept.map(\.name).sorted() == ["a", "b"])
    #expect(kept.allSatisfy { $0.mediaType == "image/jpeg" && $0.width == 3 && $0.height == 2 })
    #expect(try texts(asset).filter { $0.key != "c" } == before)
    try checkFiles(asset)
  }

  @Test("A kept file that was changed is not handed to the plugin but made again")
  func changedFile() throws {
    let asset = try fixture.add("x")
    let given = GivenTexts()
    let reader = reader(given)
    try fixture.run([stage(["a": 1, "b": 2], storage: .file)], [reader])
    let before = try texts(asset)
    for (name, wanted) in [("a", ["a", "c"]), ("b", ["b", "d"])] {
      let record = try #require(try fixture.renditions(of: asset).first { $0.name == name })
      let path = fixture.temporary.appending(BytePath(try #require(record.path)))
      // The size stays.
      let file = try Descriptor.open(path, flags: O_WRONLY)
      try file.write(Array("?".utf8))
      let grown = name == "a" ? ["a": 1, "b": 2, "c": 3] : ["b": 2, "d": 4]
      try fixture.run([stage(grown, storage: .file)], [reader])
      #expect(reader.requests.last?.wanted == wanted || reader.requests.last?.wanted == nil)
      #expect(given.all.last?[name] == nil)
      #expect(try texts(asset)[name] != before[name])
      try checkFiles(asset)
    }
    #expect(reader.requests.count == 3 && reader.requests[1].wanted == ["a", "c"])
    // Nothing was left to keep.
    #expect(reader.requests[2].wanted == nil && reader.requests[2].kept == nil)
  }

  @Test("A kept file that can't be read is made again", arguments: [EIO, EACCES])
  func unreadableFile(code: Int32) throws {
    let asset = try fixture.add("x")
    let reader = reader(GivenTexts())
    try fixture.run([stage(["a": 1, "b": 2], storage: .file)], [reader])
    let path = try #require(try fixture.renditions(of: asset).first { $0.name == "a" }?.path)
    let store = UnreadableRendition(
      store: RenditionFolder(in: try Descriptor.openFolder(fixture.temporary.path)), path: path,
      code: code)
    let plan = try fixture.plan([stage(["a": 1, "b": 2, "c": 3], storage: .file)], [reader])
    let engine = try fixture.engine(plan, renditions: store)
    defer { engine.close() }
    try engine.drain { false }
    #expect(reader.requests.last?.wanted == ["a", "c"])
    #expect(reader.requests.last?.kept?.map(\.name) == ["b"])
    #expect(try texts(asset)["a"]?.contains("job 2") == true)
    #expect(try texts(asset)["b"]?.contains("job 1") == true)
    try checkFiles(asset)
  }

  @Test("What is removed from the list goes, and no job runs", arguments: storages)
  func shrunk(storage: StageConfiguration.Storage) throws {
    let asset = try fixture.add("x")
    let maker = maker()
    try fixture.run([stage(["a": 1, "b": 2], storage: storage)], [maker])
    let key = try #require(try keys(asset)["b"])
    let events = try fixture.run([stage(["b": 2], storage: storage)], [maker])
    #expect(events.map(\.outcome) == [.done] && maker.jobs == 1)
    #expect(try texts(asset) == ["b": "b by job 1 for \(asset)"])
    #expect(try facts(asset) == ["job": 1, "first": 1, "made": ["b": 1]])
    #expect(try keys(asset) == ["b": key])
    try checkFiles(asset)
    #expect(try fixture.reader.status().renditions == 1)
    // And what comes back is made again.
    try fixture.run([stage(["a": 1, "b": 2], storage: storage)], [maker])
    #expect(maker.requests.last?.wanted == ["a"])
    #expect(try texts(asset)["b"] == "b by job 1 for \(asset)")
    try checkFiles(asset)
  }

  @Test("A changed element is made again alone; with another option, everything is")
  func changed() throws {
    let asset = try fixture.add("x")
    let maker = maker()
    try fixture.run([stage(["a": 1, "b": 2])], [maker])
    try fixture.run([stage(["a": 1, "b": 3])], [maker])
    #expect(maker.requests.last?.wanted == ["b"])
    #expect(try texts(asset)["a"]?.contains("job 1") == true)
    #expect(try texts(asset)["b"]?.contains("job 2") == true)
    try fixture.run([stage(["a": 1, "b": 3], quality: 90)], [maker])
    #expect(maker.requests.count == 3 && maker.requests.last?.wanted == nil)
    #expect(try texts(asset).values.allSatisfy { $0.contains("job 3") })
    #expect(try facts(asset) == ["job": 3, "first": 3, "made": ["a": 3, "b": 3]])
  }

  @Test("A file that came before the list grew is not made again for each change under way")
  func twice() throws {
    let asset = try fixture.add("x")
    let maker = maker()
    try fixture.run([stage(["a": 1])], [maker])
    // A change that no job has followed yet.
    let between = try fixture.plan([stage(["a": 1, "b": 2])], [maker])
    try fixture.catalog.configure(between.stages.map(\.definition))
    try fixture.run([stage(["a": 1, "c": 3])], [maker])
    #expect(maker.requests.map(\.wanted) == [nil, ["c"]])
    #expect(try texts(asset).keys.sorted() == ["a", "c"])
  }

  @Test("A part of which a file has no rendition is asked for once, and is not missing")
  func none() throws {
    let asset = try fixture.add("x")
    let maker = maker()
    try fixture.run([stage(["a": 1, "b": 2, "none": 0])], [maker])
    try fixture.run([stage(["a": 1, "b": 2, "c": 3, "none": 0])], [maker])
    #expect(maker.requests.map(\.wanted) == [nil, ["c"]])
    try fixture.run([stage(["a": 1, "c": 3, "none": 0])], [maker])
    #expect(maker.jobs == 2)
    // If only such a part is new, the others are all that there is.
    let events = try fixture.run([stage(["a": 1, "c": 3, "none": 0, "other": 0])], [maker])
    #expect(events.map(\.outcome) == [.done])
    #expect(maker.requests.last?.wanted == ["other"])
    #expect(try texts(asset).keys.sorted() == ["a", "c"])
    #expect(try facts(asset) == ["job": 2, "first": 1, "made": ["a": 1, "c": 2]])
    // If nothing is left to keep, the plugin decides what becomes of the file.
    try fixture.run([stage(["none": 0, "other": 0])], [maker])
    #expect(maker.jobs == 4 && maker.requests.last?.wanted == nil)
    #expect(try fixture.jobs(of: asset)["s"]?.state == .skipped)
    #expect(try texts(asset).isEmpty)
    try checkFiles(asset)
  }

  @Test("What a plugin makes beyond what is wanted replaces what would be kept")
  func unasked() throws {
    let asset = try fixture.add("x")
    let maker = maker()
    try fixture.run([stage(["a": 1, "b": 2])], [maker])
    let eager = FakeBackend(maker.manifest) { request, job in
      var request = request
      request.wanted = nil
      return maker.work(request, job)
    }
    try fixture.run([stage(["a": 1, "b": 2, "c": 3])], [eager])
    #expect(eager.requests.map(\.wanted) == [["c"]])
    #expect(try texts(asset).values.allSatisfy { $0.contains("job 2") })
    #expect(try facts(asset) == ["job": 2, "first": 2, "made": ["a": 2, "b": 2, "c": 2]])
    try checkFiles(asset)
  }

  @Test("What is kept goes where a changed policy wants it", arguments: storages, storages)
  func moved(from old: StageConfiguration.Storage, to new: StageConfiguration.Storage) throws {
    let asset = try fixture.add("x")
    let maker = maker()
    try fixture.run([stage(["a": 1], storage: old)], [maker])
    try fixture.run([stage(["a": 1, "b": 2], storage: new)], [maker])
    #expect(try texts(asset)["a"]?.contains("job 1") == true)
    #expect(try fixture.renditions(of: asset).allSatisfy { ($0.path != nil) == (new == .file) })
    try checkFiles(asset)
  }

  @Test("A stage that works on a kept rendition runs again, as its fingerprint says")
  func consumed() throws {
    let asset = try fixture.add("x")
    let maker = maker()
    let reader = FakeBackend(FakeBackend.manifest("reader")) { request, _ in
      let path = BytePath(request.input)
      let bytes = try? Descriptor.openFolder(path.parent)
        .readFile(path.lastComponent, limit: 1 << 20)
      return .done(facts: ["text": .string(String(decoding: bytes ?? [], as: UTF8.self))])
    }
    let reading = StageConfiguration.stage("r", "reader") {
      $0.input = [RenditionReference("s/a")].compactMap(\.self)
    }
    try fixture.run([stage(["a": 1]), reading], [maker, reader])
    try fixture.run([stage(["a": 1, "b": 2]), reading], [maker, reader])
    #expect(maker.requests.map(\.wanted) == [nil, ["b"]] && reader.jobs == 2)
    #expect(try facts(asset, "r") == ["text": .string("a by job 1 for \(asset)")])
    #expect(try fixture.run([stage(["a": 1, "b": 2]), reading], [maker, reader]).isEmpty)
  }

  @Test("If a kept file is gone once the rest is made, the next attempt makes it, too")
  func vanished() throws {
    let asset = try fixture.add("x")
    try fixture.run([stage(["a": 1, "b": 2], storage: .file)], [maker()])
    let path = try #require(
      try fixture.renditions(of: asset).first { $0.name == "a" }?.path.map { BytePath($0) })
    let folder = try Descriptor.openFolder(fixture.temporary.appending(path.parent))
    let maker = maker { request in
      // The job then fails to fail, which the test sees.
      if request.wanted != nil { try? folder.remove(path.lastComponent) }
    }
    let grown = stage(["a": 1, "b": 2, "c": 3], storage: .file)
    let events = try fixture.run([grown], [maker])
    #expect(events.map(\.failureClass) == ["transient"], "\(events)")
    #expect(try fixture.catalog.retry(assets: nil) == 1)
    try fixture.run([grown], [maker])
    #expect(maker.requests.map(\.wanted) == [["c"], ["a", "c"]])
    #expect(try texts(asset).keys.sorted() == ["a", "b", "c"])
    #expect(try texts(asset)["b"]?.contains("job 1") == true)
    try checkFiles(asset)
  }

  @Test("If one of the new files can't be stored, nothing else is lost")
  func unstorable() throws {
    let asset = try fixture.add("x")
    try fixture.run([stage(["a": 1, "b": 2], storage: .file)], [maker()])
    let before = try keys(asset)
    let maker = maker()
    let grown = stage(["a": 1, "b": 2, "c": 3, "d": 4], storage: .file)
    let plan = try fixture.plan([grown], [maker])
    let rendition = RenditionName(
      stage: "s", owner: SHA256.digest(of: Array("x".utf8)).hex,
      fingerprint: plan.stages[0].definition.fingerprint, rendition: "d", mediaType: "image/jpeg")
    let folder = try Descriptor.openFolder(
      fixture.temporary.appending(RenditionLayout.folder(of: rendition)))
    let name = RenditionLayout.name(of: rendition)
    // In the place of the second new file, so that the first one has been moved by then.
    try folder.makeFolder(name)
    let events = try fixture.run([grown], [maker])
    #expect(events.map(\.failureClass) == ["transient"])
    #expect(events.first?.reason?.contains("Is a directory") == true, "\(events)")
    #expect(try keys(asset) == before)
    try folder.removeFolder(name)
    #expect(try fixture.catalog.retry(assets: nil) == 1)
    try fixture.run([grown], [maker])
    #expect(maker.requests.map(\.wanted) == [["c", "d"], ["c", "d"]])
    #expect(try texts(asset).keys.sorted() == ["a", "b", "c", "d"])
    try checkFiles(asset)
  }

  @Test("An asset that is deleted while its new size is made leaves nothing", arguments: storages)
  func deleted(storage: StageConfiguration.Storage) throws {
    let asset = try fixture.add("x")
    try fixture.run([stage(["a": 1, "b": 2], storage: storage)], [maker()])
    let catalog = fixture.catalog
    let maker = maker { _ in
      // The job is then recorded, which the test sees.
      _ = try? catalog.apply([.trashed(asset, at: .now), .purged(asset)], manifestPosition: 1)
    }
    #expect(
      try fixture.run([stage(["b": 2, "c": 3], storage: storage)], [maker]).isEmpty)
    #expect(maker.jobs == 1 && fixture.report.warnings.isEmpty)
    #expect(try fixture.reader.asset(asset) == nil)
    #expect(try fixture.files("renditions").isEmpty)
    #expect(try fixture.reader.unnamedBytes(after: nil, limit: 9)?.count ?? 0 == 0)
  }

  @Test("A rendition that is damaged or missing is not kept", arguments: storages)
  func damaged(storage: StageConfiguration.Storage) throws {
    let asset = try fixture.add("x")
    let maker = maker()
    try fixture.run([stage(["a": 1, "b": 2], storage: storage)], [maker])
    if let path = try fixture.renditions(of: asset).first(where: { $0.name == "a" })?.path {
      let path = fixture.temporary.appending(BytePath(path))
      try Descriptor.openFolder(path.parent).remove(path.lastComponent)
      try fixture.run([stage(["a": 1, "b": 2, "c": 3], storage: storage)], [maker])
    } else {
      let plan = try fixture.plan([stage(["a": 1, "b": 2, "c": 3], storage: storage)], [maker])
      let id = try #require(try keys(asset)["a"])
      let engine = try fixture.engine(
        plan, ledger: DamagedLedger(ledger: fixture.catalog, rendition: id))
      defer { engine.close() }
      try engine.drain { false }
    }
    #expect(maker.requests.last?.wanted == ["a", "c"])
    #expect(try texts(asset)["a"]?.contains("job 2") == true)
    #expect(try texts(asset)["b"]?.contains("job 1") == true)
    try checkFiles(asset)
  }

  @Test("If a rendition is missing and the plugin now skips the file, the file is skipped")
  func skippedNow() throws {
    let asset = try fixture.add("x")
    let maker = maker()
    let skipping = FakeBackend(maker.manifest) { _, _ in .skipped(reason: "Nothing to see.") }
    try fixture.run([stage(["a": 1, "b": 2], storage: .file)], [maker])
    let path = try #require(try fixture.renditions(of: asset).first { $0.name == "a" }?.path)
    try Descriptor.openFolder(fixture.temporary.path).removeIfThere(BytePath(path))
    let events = try fixture.run(
      [stage(["a": 1, "b": 2, "c": 3], storage: .file)], [skipping])
    #expect(skipping.requests.map(\.wanted) == [["a", "c"]])
    #expect(events.map(\.outcome) == [.skipped] && events.first?.reason == "Nothing to see.")
    #expect(try fixture.jobs(of: asset)["s"]?.state == .skipped)
    try checkFiles(asset)
  }

  @Test("A missing decoder costs nothing that is kept; a type that is left out has no renditions")
  func lacking() throws {
    let asset = try fixture.add("x")
    let identify = FakeBackend.identify(["mediaType": "image/x-raw"])
    var manifest = maker().manifest
    manifest.accepts = ["image/png", "image/x-raw"]
    let work = maker().work
    let whole = FakeBackend(manifest, work: work)
    manifest.accepts = ["image/png"]
    manifest.lacks = [.init(accepts: ["image/x-raw"], reason: "Install libraw-dev.")]
    let lacking = FakeBackend(manifest, work: work)
    try fixture.run([stage(["a": 1, "b": 2, "c": 3])], [identify, whole])
    let rows = try keys(asset)
    let events = try fixture.run([stage(["a": 1, "b": 2])], [identify, lacking])
    #expect(events.map(\.outcome) == [.done] && lacking.jobs == 0)
    #expect(try keys(asset) == rows.filter { $0.key != "c" })
    var narrow = stage(["a": 1])
    narrow.accepts = ["image/png"]
    let skipped = try fixture.run([narrow], [identify, whole])
    #expect(skipped.map(\.outcome) == [.skipped])
    #expect(try texts(asset).isEmpty)
    // What is to be made needs the decoder.
    let lost = try fixture.run([stage(["a": 1, "d": 4])], [identify, lacking])
    #expect(lost.map(\.reason) == ["Install libraw-dev."])
  }

  @Test("What another stage still has stays its own", arguments: storages)
  func shared(storage: StageConfiguration.Storage) throws {
    let asset = try fixture.add("x")
    let maker = maker()
    let small = stage(["a": 1], storage: storage)
    try fixture.run([small], [maker])
    let other = stage(["a": 1], name: "other", storage: storage)
    try fixture.run([stage(["a": 1, "b": 2], storage: storage), other], [maker])
    #expect(maker.requests.map(\.wanted) == [nil, ["b"]])
    #expect(try texts(asset)["a"] == "a by job 1 for \(asset)")
    #expect(try texts(asset, "other") == ["a": "a by job 1 for \(asset)"])
    // Without the other one, its own are all that stay.
    try fixture.run([stage(["b": 2], storage: storage), other], [maker])
    #expect(maker.jobs == 2)
    #expect(try texts(asset).keys.sorted() == ["b"])
    #expect(try texts(asset, "other") == ["a": "a by job 1 for \(asset)"])
  }

  @Test(
    "A kill before the result is recorded loses nothing, and the next run ends the same",
    arguments: storages)
  func killed(storage: StageConfiguration.Storage) throws {
    let asset = try fixture.add("x")
    let maker = maker()
    try fixture.run([stage(["a": 1, "b": 2], storage: storage)], [maker])
    let before = try fixture.renditions(of: asset)
    let plan = try fixture.plan([stage(["b": 2, "c": 3], storage: storage)], [maker])
    let ledger = RefusingLedger(fixture.catalog)
    let engine = try fixture.engine(plan, ledger: ledger)
    #expect(throws: EngineError.self) { try engine.drain { false } }
    engine.close()
    // All that the catalog names is there meanwhile.
    let stale = try fixture.renditions(of: asset)
    #expect(stale.map(\.id) == before.map(\.id) && stale.allSatisfy(\.isStale))
    for record in stale {
      if let path = record.path {
        _ = try Descriptor.open(fixture.temporary.appending(BytePath(path)), flags: O_RDONLY)
      } else {
        #expect(try fixture.reader.renditionBytes(record.id) != nil)
      }
    }
    try fixture.catalog.requeue(ledger.tokens)
    try fixture.run([stage(["b": 2, "c": 3], storage: storage)], [maker])
    #expect(try texts(asset).keys.sorted() == ["b", "c"])
    #expect(try texts(asset)["b"] == "b by job 1 for \(asset)")
    try checkFiles(asset)
  }

  @Test("A part has the fingerprint that the stage would have with it alone")
  func parts() throws {
    func definition(_ stage: StageConfiguration, _ maker: FakeBackend) throws -> StageDefinition {
      try #require(try fixture.plan([stage], [maker]).stages.first).definition
    }
    let maker = maker()
    let both = try definition(stage(["a": 1, "b": 2]), maker)
    #expect(both.parts.keys.sorted() == ["a", "b"])
    let alone = try definition(stage(["b": 2]), maker)
    #expect(both.parts["b"] == alone.fingerprint && both.parts["a"] != alone.fingerprint)
    // By default there is one, and defaults may be spelled out.
    let standard = try definition(.stage("s", "maker"), maker)
    #expect(standard.parts["a"] == both.parts["a"] && standard.parts.count == 1)
    let spelled = try definition(
      .stage("s", "maker") {
        $0.options = ["quality": 80, "sizes": [["name": "a", "side": 1, "padding": 100]]]
      }, maker)
    #expect(spelled.parts == standard.parts)
    #expect(try definition(stage(["a": 1], quality: 9), maker).parts["a"] != both.parts["a"])
    var manifest = maker.manifest
    manifest.parts = nil
    let plain = FakeBackend(manifest) { _, _ in .done() }
    #expect(try definition(stage(["a": 1]), plain).parts.isEmpty)
  }
}

/// What was in the copies of kept renditions, for each job by name.
private final class GivenTexts: Sendable {
  private let texts = Mutex<[[String: String]]>([])

  var all: [[String: String]] { texts.withLock { $0 } }

  func add(_ given: [String: String]) { texts.withLock { $0.append(given) } }
}

/// A store that can't read one of its files.
private struct UnreadableRendition: RenditionStore {
  let store: any RenditionStore
  let path: String
  let code: Int32

  var place: String { store.place }
  var isOnServer: Bool { store.isOnServer }
  var callsAtOnce: Int { store.callsAtOnce }

  func open(_ path: String, copyOf digest: Digest?) throws(FileError) -> Descriptor {
    if path == self.path { throw FileError("open", BytePath(path), errno: code) }
    return try store.open(path, copyOf: digest)
  }

  func put(_ renditions: [IncomingRendition]) throws(FileError) -> [String] {
    try store.put(renditions)
  }

  func size(of path: String) throws(FileError) -> Int? { try store.size(of: path) }
  func remove(_ path: String) throws(FileError) { try store.remove(path) }
}

/// A ledger from which one rendition comes damaged.
private struct DamagedLedger: WrappedLedger {
  let ledger: any Ledger
  let rendition: Int64

  func bytes(ofRendition id: Int64) throws(CatalogError) -> [UInt8]? {
    id == rendition ? [0] : try ledger.bytes(ofRendition: id)
  }
}

/// A ledger that stores the bytes of results and records none, as if the program had been killed in between.
private final class RefusingLedger: WrappedLedger {
  let ledger: any Ledger
  private let refused = Mutex<[AttemptToken]>([])

  init(_ ledger: any Ledger) { self.ledger = ledger }

  var tokens: [AttemptToken] { refused.withLock { $0 } }

  func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    refused.withLock { $0 += completions.map(\.token) }
    // A token that is used twice is refused once the bytes are stored.
    return try ledger.complete(completions + completions)
  }
}
