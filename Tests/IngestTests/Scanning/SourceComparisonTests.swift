import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Comparing a source with what is known", .timeLimit(.minutes(1)))
struct SourceComparisonTests {
  /// A finding in words.
  private func findings(_ fixture: IngestFixture) throws -> [String] {
    let source = try IngestSource(fixture.source, for: nil)
    let scan = try SourceScan(
      source.folder, rules: SourceRules(fixture.source), isRecursive: true,
      exclusion: LibraryExclusion([]))
    var comparison = try SourceComparison(
      scan: scan, cursor: try fixture.library().catalog.sightings(of: fixture.source.path),
      source: source, now: .now)
    var findings: [String] = []
    while let finding = try comparison.next() {
      switch finding {
      case .candidate(let candidate):
        findings.append("candidate \(candidate.path)\(candidate.known == nil ? "" : ", known")")
      case .awaitsRemoval(let sighting, _): findings.append("awaits removal \(sighting.path)")
      case .unchanged: findings.append("settled")
      case .missing(let sighting): findings.append("missing \(sighting.path) \(sighting.state)")
      case .changed(let sighting): findings.append("changed \(sighting.path) \(sighting.state)")
      case .restored(let sighting):
        findings.append("restored \(sighting.path) \(sighting.state) \(sighting.awaitsRemoval)")
      }
    }
    return findings
  }

  private func know(
    _ fixture: IngestFixture, _ path: BytePath, _ state: Sighting.State, _ identity: FileIdentity?,
    hasAsset: Bool = false, awaitsRemoval: Bool = false
  ) throws {
    let library = try fixture.library()
    var changes: [CatalogChange] = []
    var asset: AssetID?
    if hasAsset {
      let id = library.ids.next()
      asset = id
      changes.append(
        .asset(
          NewAsset(
            id: id, digest: fixture.digest("\(path)"), size: 1, name: path.lastComponent,
            source: fixture.source.path, path: path, modified: 0, permissions: 0o600,
            importedAt: .now)))
    }
    changes.append(
      .sighting(
        Sighting(
          source: fixture.source.path, path: path, state: state, identity: identity, asset: asset,
          seenAt: .now, awaitsRemoval: awaitsRemoval)))
    try library.catalog.apply(changes, manifestPosition: 0)
  }

  @Test("A file that is new is a candidate")
  func new() throws {
    let fixture = try IngestFixture()
    try fixture.write("x", to: "a")
    #expect(try findings(fixture) == ["candidate a"])
  }

  @Test(
    "A file that is as it was known is settled, or looked at again if it was not taken",
    arguments: [
      (.imported, "settled"), (.duplicate, "settled"), (.rejected, "settled"),
      (.returned, "settled"), (.failed, "candidate a, known"), (.settling, "candidate a, known"),
      (.gone, "candidate a, known"), (.ignored, "candidate a, known"),
    ] as [(Sighting.State, String)])
  func unchanged(state: Sighting.State, expected: String) throws {
    let fixture = try IngestFixture()
    try know(fixture, "a", state, try fixture.write("x", to: "a"))
    #expect(try findings(fixture) == [expected])
  }

  @Test(
    "A file that changed is a candidate, whatever was known", arguments: Sighting.State.allCases)
  func changed(state: Sighting.State) throws {
    let fixture = try IngestFixture()
    let identity = try fixture.write("x", to: "a")
    for change: (inout FileIdentity) -> Void in [
      { $0.inode += 1 }, { $0.size += 1 }, { $0.modified += 1 },
    ] {
      var before = identity
      change(&before)
      try know(fixture, "a", state, before)
      #expect(try findings(fixture) == ["candidate a, known"])
    }
  }

  @Test("A file whose bytes are safe and that is still there awaits its removal")
  func awaitsRemoval() throws {
    let fixture = try IngestFixture()
    let identity = try fixture.write("x", to: "a")
    try know(fixture, "a", .imported, identity, hasAsset: true, awaitsRemoval: true)
    #expect(try findings(fixture) == ["awaits removal a"])
    // Without an asset nobody asked for the file, and nobody takes it again.
    try know(fixture, "a", .imported, identity, awaitsRemoval: true)
    #expect(try findings(fixture) == ["settled"])
    try fixture.remove("a")
    // It went: that is what was wanted, and nothing to speak of.
    #expect(try findings(fixture) == ["restored a imported false"])
  }

  @Test("A file that went and came back unchanged is what it was, without a word")
  func back() throws {
    let fixture = try IngestFixture(.copy)
    try know(fixture, "a", .gone, try fixture.write("x", to: "a"), hasAsset: true)
    #expect(try findings(fixture) == ["restored a imported false"])
  }

  @Test(
    "One that had not been taken when it went, over a file that had, is taken when it comes back",
    arguments: [Sighting.State.settling, .failed, .rejected, .ignored])
  func backUntaken(state: Sighting.State) throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("hello", to: "a")
    let identity = try fixture.identity("a")
    let seen = Sighting(
      source: fixture.source.path, path: "a", state: state, identity: identity,
      asset: try fixture.library().ids.next(), seenAt: .now)
    let finding = SourceComparison.finding("a", identity, seen.gone(at: .now), now: .now)
    guard case .candidate = finding else { throw FileError(.other, "\(finding)", path: nil) }
  }

  @Test(
    "A known path that is not there is gone, unless nothing of it was left or it was gone before",
    arguments: Sighting.State.allCases)
  func missing(state: Sighting.State) throws {
    let fixture = try IngestFixture()
    let identity = FileIdentity(inode: 1, size: 2, modified: 3, changed: 4)
    try know(fixture, "a", state, identity)
    #expect(try findings(fixture) == (state == .gone ? [] : ["missing a gone"]))
    try know(fixture, "a", state, nil)
    let leftNothing = [.gone, .imported, .duplicate, .returned].contains(state)
    #expect(try findings(fixture) == (leftNothing ? [] : ["missing a gone"]))
  }

  @Test("Nothing is inferred about what lies in a folder that is ignored now")
  func blind() throws {
    let fixture = try IngestFixture(.copy)
    let identity = FileIdentity(inode: 1, size: 2, modified: 3, changed: 4)
    for path: BytePath in ["drafts!", "drafts/a", "drafts/b/c", "drafts0"] {
      try know(fixture, path, .imported, identity)
    }
    try fixture.write("x", to: "drafts/a")
    fixture.source.exclude = [try Glob("drafts/**")]
    #expect(
      try findings(fixture) == [
        "missing drafts! gone", "changed drafts/ ignored", "missing drafts0 gone",
      ])
  }

  @Test("An ignored path is told once")
  func ignoredOnce() throws {
    let fixture = try IngestFixture()
    try fixture.write("x", to: ".hidden")
    #expect(try findings(fixture) == ["changed .hidden ignored"])
    try know(fixture, ".hidden", .ignored, nil)
    #expect(try findings(fixture) == ["settled"])
  }

  @Test("Scan and knowledge are merged in one order", arguments: 1...5)
  func merge(seed: UInt64) throws {
    var random = SeededGenerator(state: seed)
    let fixture = try IngestFixture(.copy)
    var expected: [BytePath: String] = [:]
    let names = (0..<60).map { _ in
      let letters: [Character] = ["a", "b", "!", "0"]
      let part = { (count: Int) -> String in
        String((0..<count).map { _ in letters.randomElement(using: &random) ?? "a" })
      }
      return BytePath("d\(part(1))/\(part(2))/f\(part(3))")
    }
    for path in Set(names).sorted() {
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        try fixture.write("x", to: path)
        expected[path] = "candidate \(path)"
      case 1:
        try know(fixture, path, .imported, try fixture.write("x", to: path))
        expected[path] = "settled"
      default:
        try know(
          fixture, path, .imported, FileIdentity(inode: 1, size: 1, modified: 1, changed: 1))
        expected[path] = "missing \(path) gone"
      }
    }
    #expect(try findings(fixture) == expected.sorted { $0.key < $1.key }.map(\.value))
  }
}
