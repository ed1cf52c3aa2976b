import Catalog
import Configuration
import Files
import Fixtures
import Ingest
import Manifest
import PipelineModel
import Records
import Testing

@Suite("Edits as transactions", .timeLimit(.minutes(2)))
struct AssetEditTests {
  private func fixture() throws -> IngestFixture {
    let fixture = try IngestFixture()
    for name: BytePath in ["a", "b", "c"] { try fixture.write("\(name)", to: name) }
    try fixture.run()
    return fixture
  }

  private func perform(_ edits: [AssetEdit], _ fixture: IngestFixture) throws -> EditResult {
    try AssetEdits(library: fixture.library(), report: fixture.report).perform(edits)
  }

  private func said(_ fixture: IngestFixture) throws -> [[String]] {
    try fixture.assets().map { asset in
      let said = try fixture.library().reader.annotations(of: asset.id) ?? []
      return said.map { "\($0.property.rawValue) \($0.text) \($0.applies)" }
        + (asset.state == .trashed ? ["trashed"] : [])
    }
  }

  private func tag(_ text: String, _ assets: [AssetID], applies: Bool = true) -> AssetEdit {
    AssetEdit(
      .annotate([Annotation(.tag, text, applies: applies)]), assets, mustExist: true)
  }

  @Test("Steps are done in order, and each sees what those before it did")
  func order() throws {
    let fixture = try fixture()
    let ids = try fixture.assets().map(\.id)
    let result = try perform(
      [
        tag("x", ids), tag("x", [ids[0]], applies: false), tag("x", [ids[1]]),
        AssetEdit(.trash, [ids[0], ids[2]], mustExist: true),
        AssetEdit(.restore, [ids[2], ids[1]], mustExist: true),
        AssetEdit(.annotate([Annotation(.rating, "4")]), ids, mustExist: true),
        AssetEdit(.annotate([Annotation(.rating, "5")]), [ids[1]], mustExist: true),
      ], fixture)
    #expect(result == EditResult(assets: 3))
    let expected = [
      ["rating 4 true", "tag x false", "trashed"], ["rating 5 true", "tag x true"],
      ["rating 4 true", "tag x true"],
    ]
    #expect(try said(fixture) == expected)
    _ = try fixture.rebuild()
    #expect(try said(fixture) == expected)
    #expect(try fixture.problems().isEmpty)
    #expect(try perform([tag("x", [ids[1]])], fixture) == EditResult())
  }

  @Test("An error in any step leaves nothing of those before it")
  func error() throws {
    let fixture = try fixture()
    let ids = try fixture.assets().map(\.id)
    let unknown = try fixture.library().ids.next()
    let last = try fixture.library().manifest.lastSequence
    let missing = #expect(throws: CatalogError.self) {
      try perform(
        [tag("x", ids), AssetEdit(.trash, [ids[0], unknown], mustExist: true)], fixture)
    }
    #expect(missing?.code == .noAsset)
    #expect(throws: (any Error).self) { try perform([tag("x", ids), tag(" ", ids)], fixture) }
    #expect(throws: (any Error).self) {
      try perform(
        Array(repeating: tag("x", ids), count: AssetEdits.most / ids.count + 1), fixture)
    }
    let long = Annotation(.caption, String(repeating: "x", count: 16_000))
    #expect(throws: (any Error).self) {
      try perform(
        Array(
          repeating: AssetEdit(.annotate([long]), ids, mustExist: true),
          count: AssetEdits.mostTextBytes / (16_000 * ids.count) + 1), fixture)
    }
    #expect(try said(fixture) == [[], [], []])
    #expect(try fixture.library().manifest.lastSequence == last)
    let result = try perform(
      [AssetEdit(.trash, [ids[0], unknown], mustExist: false)], fixture)
    #expect(result.assets == 1)
  }

  @Test("Failed jobs are ready again with the rest, also if the catalog learns of it by a replay")
  func retry() throws {
    let fixture = try fixture()
    let assets = try fixture.assets()
    let ids = assets.map(\.id)
    func fail() throws {
      let catalog = try fixture.library().catalog
      for job in try catalog.claim(stage: "s", limit: 10, suspects: false) {
        _ = try catalog.complete([
          Completion(
            token: job.token, outcome: .failed(class: "permanent", reason: "No.", retryAt: nil),
            seconds: 1)
        ])
      }
    }
    func ready() throws -> Int {
      try fixture.library().catalog.backlog()["s"]?[.ready] ?? 0
    }
    try fixture.library().catalog.configure([
      StageDefinition(
        name: "s", plugin: "p", fingerprint: Fingerprint(assets[0].digest), isAssetScoped: false,
        needs: [], attempts: 1, runtime: "1", limits: "{}")
    ])
    try fail()
    #expect(try ready() == 0)
    let retry = AssetEdit(.retry, [ids[0], ids[1], ids[1]], mustExist: true)
    let last = try fixture.library().manifest.lastSequence
    #expect(try perform([retry], fixture) == EditResult(assets: 0, jobs: 2))
    // Nothing that a user said is lost with the catalog.
    #expect(try fixture.library().manifest.lastSequence == last)
    #expect(try ready() == 2)
    try fail()
    #expect(try perform([retry, tag("x", [ids[2]])], fixture) == EditResult(assets: 1, jobs: 2))
    #expect(try ready() == 2)
    try fail()
    // A kill after the journal.
    try fixture.library().manifest.append(
      [.trashed(asset: ids[2]), .retried(asset: ids[0])], asTransaction: true)
    fixture.close()
    #expect(try ready() == 1)
    #expect(try fixture.assets()[2].state == .trashed)
    #expect(try fixture.problems().isEmpty)
    // A retry is not repeated while an import that has not ended holds the position.
    try fixture.write("d", to: "d")
    _ = try fixture.begin("d")
    try fixture.library().manifest.append(
      [.restored(asset: ids[2]), .retried(asset: ids[0])], asTransaction: true)
    for expected in [1, 0] {
      try fail()
      let library = try fixture.library()
      let open = try Replay(catalog: library.catalog, manifest: library.manifest).run()
      #expect(try open.imports.count == 1 && ready() == expected)
    }
  }

  @Test("A kill between the journal and the catalog is made good, and one before leaves nothing")
  func interrupted() throws {
    let fixture = try fixture()
    let ids = try fixture.assets().map(\.id)
    try fixture.library().manifest.append(
      [.annotated(asset: ids[0], Annotation(.tag, "x")), .trashed(asset: ids[1])],
      asTransaction: true)
    fixture.close()
    #expect(try said(fixture) == [["tag x true"], ["trashed"], []])
    #expect(try !fixture.library().isBehind())
    // Another one, without its last line.
    try fixture.library().manifest.append(
      [.restored(asset: ids[1]), .annotated(asset: ids[2], Annotation(.tag, "y"))],
      asTransaction: true)
    fixture.close()
    let path = fixture.layout.manifest.appending("0001.jsonl")
    let folder = try Descriptor.openFolder(path.parent)
    var bytes = try folder.readFile(path.lastComponent)
    bytes.removeLast()
    let end = try #require(bytes.lastIndex(of: UInt8(ascii: "\n")))
    try folder.writeDurably(Array(bytes[...end]), as: path.lastComponent)
    #expect(try said(fixture) == [["tag x true"], ["trashed"], []])
    // The line that is left counts neither now nor after the next fact, nor is it missed.
    #expect(try !fixture.library().isBehind())
    #expect(try perform([tag("z", [ids[2]])], fixture).assets == 1)
    fixture.close()
    let expected = [["tag x true"], ["trashed"], ["tag z true"]]
    #expect(try said(fixture) == expected)
    _ = try fixture.rebuild()
    #expect(try said(fixture) == expected)
    #expect(try fixture.problems().isEmpty)
  }
}
