import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Hashing
import Manifest
import Originals
import PipelineModel
import Records
import Testing

@testable import Ingest

/// Recording what another machine has imported.
@Suite("Imports of other machines")
struct RemoteImportTests {
  private let fixture: IngestFixture

  init() throws { fixture = try IngestFixture() }

  private let source: BytePath = "//second/inbox"

  private func stored(
    _ text: String, from source: BytePath? = nil
  ) throws -> ManifestFact.Stored {
    let ids = try fixture.library().ids
    return ManifestFact.Stored(
      asset: ids.next(), digest: fixture.digest(text),
      intent: .init(
        taking: ids.next(), source: source ?? self.source, path: BytePath("\(text).txt"),
        identity: FileIdentity(inode: 7, size: text.utf8.count, modified: 1, changed: 2),
        permissions: 0o644, moves: true, run: ids.next()), supersedes: nil)
  }

  /// What the machine saw.
  private func seen(_ texts: String...) throws -> SeenAssets {
    var seen = SeenAssets()
    for text in texts {
      try seen.look(for: fixture.digest(text), in: fixture.library().catalog)
    }
    return seen
  }

  private func put(_ text: String) throws {
    let library = try fixture.library()
    let file = try Descriptor.open(
      "upload", in: library.incoming, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
    try file.write(Array(text.utf8))
    _ = try library.originals.put([
      IncomingOriginal(folder: library.incoming, name: "upload", digest: fixture.digest(text))
    ])
  }

  private func record(
    _ facts: [ManifestFact], _ seen: SeenAssets
  ) throws -> RemoteImport.Outcome {
    try RemoteImportRecording(
      fixture.library(),
      for: RemoteRequest(id: 1, participant: 1, body: "", node: "second", wasBegun: false)
    ).record(RemoteImport(facts, seen: seen))
  }

  @Test("They are in the manifest, the catalog and a rebuilt one; asked once more, nothing changes")
  func recorded() throws {
    try put("one")
    let fact = ManifestFact.stored(try stored("one"))
    let seen = try seen("one")
    #expect(try record([fact], seen) == .recorded)
    let position = try fixture.library().manifest.lastSequence
    // The intent and the outcome.
    #expect(position == 2)
    #expect(try record([fact], seen) == .recorded)
    #expect(try fixture.library().manifest.lastSequence == position)
    let asset = try #require(try fixture.assets().first)
    #expect(asset.source == source && asset.path == "one.txt")
    let sighting = try fixture.library().catalog.sighting(source: source, path: "one.txt")
    #expect(sighting?.state == .imported && sighting?.awaitsRemoval == true)
    _ = try fixture.rebuild()
    #expect(try fixture.assets() == [asset])
    #expect(try fixture.problems() == [])
  }

  @Test("What was decided on what others have changed since, or lacks its bytes, is not recorded")
  func overtaken() throws {
    let before = try seen("one", "two")
    try put("one")
    #expect(try record([.stored(stored("one"))], before) == .recorded)
    try put("two")
    let late = ManifestFact.stored(try stored("one"))
    #expect(try record([.stored(stored("two")), late], before) == .overtaken)
    #expect(try fixture.assets().count == 1)
    // Trashed meanwhile.
    let known = try seen("one")
    let asset = try #require(try fixture.assets().first?.id)
    _ = try Trash(library: fixture.library(), report: fixture.report).trash([asset])
    let duplicate = try stored("one")
    let fact = ManifestFact.duplicate(
      .init(asset: asset, digest: duplicate.digest, action: .discarded, intent: duplicate.intent))
    #expect(try record([fact], known) == .overtaken)
    #expect(try record([.restored(asset: asset), fact], seen("one")) == .recorded)
    #expect(try fixture.assets().first?.state != .trashed)
    // Once more: all of it is there. With one that is not, it is recorded.
    #expect(try fixture.library().manifest.lastSequence == 6)
    #expect(try record([.restored(asset: asset), fact], SeenAssets()) == .recorded)
    #expect(try fixture.library().manifest.lastSequence == 6)
    _ = try Trash(library: fixture.library(), report: fixture.report).trash([asset])
    #expect(try record([.restored(asset: asset), fact], seen("one")) == .recorded)
    #expect(try fixture.assets().first?.state != .trashed)
    // Whose bytes nobody has stored.
    let position = try fixture.library().manifest.lastSequence
    #expect(try record([.stored(stored("three"))], seen("three")) == .missing)
    #expect(try fixture.library().manifest.lastSequence == position)
  }

  @Test("A file that was recorded after it was found is no duplicate of itself")
  func recordedMeanwhile() throws {
    try fixture.write("one", to: "one.txt")
    let library = try fixture.library()
    try put("one")
    let source = try IngestSource(fixture.source, for: nil)
    let found = Candidate(path: "one.txt", identity: try fixture.identity("one.txt"))
    // By another machine, for a process that did not live to hear of it.
    var fact = try stored("one", from: fixture.source.path)
    fact.intent.identity = found.identity
    try library.catalog.apply(
      [
        .asset(NewAsset(fact, importedAt: .now)),
        .sighting(
          Sighting(
            source: source.recorded, path: "one.txt", state: .imported, identity: found.identity,
            asset: fact.asset, seenAt: .now, awaitsRemoval: true)),
      ], manifestPosition: 0)
    let importer = try Importer(
      library: library, source: source, report: fixture.report, isStopped: { false })
    let outcomes = try importer.importFiles([found])
    try importer.finish()
    #expect(outcomes.map(\.state) == [.imported] && outcomes.map(\.asset) == [fact.asset])
    #expect(try fixture.assets().map(\.id) == [fact.asset] && !fixture.exists("one.txt"))
    #expect(try fixture.sighting("one.txt")?.state == .imported)
  }

  @Test("Other facts, and paths of this machine, are refused")
  func refused() throws {
    try put("one")
    let own = try stored("one", from: fixture.source.path)
    let other = try stored("one")
    for fact: ManifestFact in [
      .stored(own), .intent(own.intent), .trashed(asset: own.asset),
      .purged(asset: own.asset, digest: own.digest),
      .abandoned(taking: other.intent.taking, reason: ""),
    ] {
      #expect(throws: IngestError.self) { try record([fact], seen("one")) }
    }
    // Each differs in one thing from what is allowed.
    var facts: [ManifestFact] = []
    for path: BytePath in ["", ".", "..", "../x", "/x", "a//b", "a/./b", "x/"] {
      var changed = try stored("one")
      changed.intent.path = path
      facts.append(.stored(changed))
    }
    for source: BytePath in [
      "//other/inbox", "//second/../x", "///x", "//second/", "//shared:", "//",
    ] {
      facts.append(.stored(try stored("one", from: source)))
    }
    var key = try stored("one")
    key.asset = try #require(AssetID(bytes: [UInt8](repeating: 0xFF, count: 16)))
    facts.append(.stored(key))
    for action: ManifestFact.Duplicate.Action in [.discarded, .filed] {
      let intent = try stored("one").intent
      facts.append(
        .duplicate(.init(asset: own.asset, digest: own.digest, action: action, intent: intent)))
    }
    facts.append(.restored(asset: own.asset))
    for fact in facts {
      #expect(throws: IngestError.self, "\(fact)") { try record([fact], seen("one")) }
    }
    let twice = ManifestFact.stored(try stored("one"))
    #expect(throws: IngestError.self) { try record([twice, twice], seen("one")) }
    #expect(throws: IngestError.self) { try record([.stored(stored("one"))], SeenAssets()) }
    #expect(try fixture.library().manifest.lastSequence == 0)
    #expect(try record([.stored(stored("one"))], seen("one")) == .recorded)
    #expect(ManifestFact(text: "{}") == nil && ManifestFact(text: "") == nil)
  }

  @Test("A return of another machine's file is recorded once, and nothing else is returned")
  func returned() throws {
    try put("one")
    let stored = try stored("one")
    #expect(try record([.stored(stored)], seen("one")) == .recorded)
    let ids = try fixture.library().ids
    func back(_ change: (inout ManifestFact.Return) -> Void = { _ in }) -> ManifestFact {
      var place = stored.intent
      (place.taking, place.moves, place.run) = (ids.next(), false, nil)
      place.identity.inode = 8
      var back = ManifestFact.Return(
        asset: stored.asset, digest: stored.digest, action: .copied, place: place)
      change(&back)
      return .returned(back)
    }
    let position = try fixture.library().manifest.lastSequence
    for fact in [
      back { $0.action = .renamed }, back { $0.place.moves = true },
      back { $0.place.source = "//other/inbox" }, back { $0.place.source = "/inbox" },
      back { $0.place.path = "../one.txt" },
    ] {
      #expect(throws: IngestError.self, "\(fact)") { try record([fact], SeenAssets()) }
    }
    #expect(throws: IngestError.self) { try record([back(), back()], SeenAssets()) }
    // What the asset is not, or came from elsewhere.
    for fact in [
      back { $0.asset = ids.next() }, back { $0.digest = fixture.digest("two") },
      back { $0.place.source = "//second/outbox" }, back { $0.place.path = "two.txt" },
    ] {
      #expect(try record([fact], SeenAssets()) == .overtaken, "\(fact)")
    }
    #expect(try fixture.library().manifest.lastSequence == position)
    #expect(try fixture.assets().count == 1)
    let fact = back()
    #expect(try record([fact], SeenAssets()) == .recorded)
    #expect(try fixture.library().manifest.lastSequence == position + 1)
    #expect(try record([fact], SeenAssets()) == .recorded)
    #expect(try fixture.library().manifest.lastSequence == position + 1)
    #expect(try record([back { $0.place.identity.inode = 9 }], SeenAssets()) == .overtaken)
    #expect(try fixture.assets() == [])
    #expect(
      try fixture.library().catalog.sighting(source: source, path: "one.txt")?.state == .returned)
    // Another run gave up a file for these bytes.
    let second = try self.stored("one")
    #expect(try record([.stored(second)], seen("one")) == .recorded)
    var again = try self.stored("one").intent
    again.path = "again.txt"
    let duplicate = ManifestFact.duplicate(
      .init(asset: second.asset, digest: second.digest, action: .discarded, intent: again))
    #expect(try record([duplicate], seen("one")) == .recorded)
    #expect(try record([back { $0.asset = second.asset }], SeenAssets()) == .overtaken)
    #expect(try fixture.assets().count == 1)
    #expect(try fixture.problems() == [])
  }

  @Test("A path says on which machine it is")
  func paths() {
    #expect(MachinePath.path("/inbox", on: "a") == "//a/inbox")
    #expect(MachinePath.path("/", on: "a") == "//a")
    #expect(MachinePath.machine(of: "//a/inbox") == "a" && MachinePath.machine(of: "/a") == nil)
    #expect(MachinePath.path("//a/inbox", of: "a") == "/inbox")
    #expect(MachinePath.path("//a", of: "a") == "/")
    #expect(MachinePath.path("//ab/inbox", of: "a") == nil)
    #expect(MachinePath.path("/a/inbox", of: "a") == nil)
  }
}
