import Configuration
import Files
import Fixtures
import Manifest
import PipelineModel
import Records
import Testing

@testable import Ingest

/// Paths that are longer than what a catalog in PostgreSQL can record.
@Suite(
  "Long paths and a catalog in PostgreSQL",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5))
)
struct PathLimitTests {
  /// A path of 2,500 or 3,000 bytes that can't be compressed to much less.
  private func path(_ parts: Int) -> BytePath {
    var random = SeededRandom(seed: UInt64(parts))
    let components = (0..<parts).map { _ in
      (0..<249).map { _ in UInt8.random(in: 0x80...0xFF, using: &random) }
    }
    return BytePath(bytes: Array(components.joined(separator: [UInt8(ascii: "/")])))
  }

  @Test("What is too long stays in its source with a warning, and all else is imported")
  func leftOut() throws {
    let fixture = try IngestFixture(database: try PostgreSQLServer.shared.makeDatabase())
    let (long, longest) = (path(12), path(10))
    try fixture.write("short", to: "a.txt")
    try fixture.write("longest", to: longest)
    try fixture.write("long", to: long)
    let outcomes = try fixture.outcomes()
    #expect(outcomes["a.txt"] == .imported && outcomes[longest] == .imported)
    #expect(outcomes.count == 2 && fixture.exists(long))
    #expect(fixture.report.warnings.count == 1)
    #expect(fixture.report.warnings.first?.contains("is left out") == true)
    // Nothing is stuck: the library opens again, and goes on.
    fixture.close()
    try fixture.write("another", to: "b.txt")
    #expect(try fixture.outcomes() == ["b.txt": .imported])
    let named = try fixture.importFile(fixture.path(long))
    #expect(named?.outcome == .failed && named?.reason?.contains("is left out") == true)
    #expect(try fixture.assets().count == 3)
  }

  @Test("What is too long is explained by its length")
  func explained() throws {
    let fixture = try IngestFixture()
    for (path, state) in [(path(12), "ignored"), (path(10), "unseen")] {
      try fixture.write("bytes", to: path)
      let found = PathOnDisk(
        fixture.path(path), home: (fixture.source, path), library: [],
        longest: PathLimit.longestPath)
      let explanation = PathExplanation(known: nil, found: found, source: fixture.source)
      #expect(explanation.state == state)
      #expect(explanation.reason?.contains("2999 bytes") == (state == "ignored"))
    }
  }

  @Test("Whoever finds it, what is too long does not get into the manifest")
  func guarded() throws {
    let fixture = try IngestFixture(database: try PostgreSQLServer.shared.makeDatabase())
    let long = path(12)
    let identity = try fixture.write("long", to: long)
    let library = try fixture.library()
    let before = library.manifest.lastSequence
    let importer = try Importer(
      library: library, source: try IngestSource(fixture.source, for: nil), report: fixture.report
    ) { false }
    try importer.importFiles([Candidate(path: long, identity: identity, known: nil)])
    try importer.note(
      Sighting(source: fixture.source.path, path: long, state: .ignored, seenAt: .now))
    try importer.finish()
    #expect(library.manifest.lastSequence == before && fixture.exists(long))
  }
}
