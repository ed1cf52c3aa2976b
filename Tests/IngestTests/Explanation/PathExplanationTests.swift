import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("What explain says of a file is what a run does with it", .timeLimit(.minutes(1)))
struct PathExplanationTests {
  private let fixture: IngestFixture

  init() throws { fixture = try IngestFixture(.copy) }

  private func obstacle() -> Completeness.Obstacle? {
    let found = PathOnDisk(fixture.path("a"), home: (fixture.source, "a"), library: [])
    guard case .file(_, let obstacle) = found else { return nil }
    return obstacle
  }

  private func explanation() -> PathExplanation {
    PathExplanation(
      known: nil, found: PathOnDisk(fixture.path("a"), home: (fixture.source, "a"), library: []),
      source: fixture.source)
  }

  @Test("A complete file is imported")
  func complete() throws {
    try fixture.write("bytes", to: "a")
    #expect(obstacle() == nil && explanation().state == "unseen")
    #expect(try fixture.outcomes() == ["a": .imported])
  }

  @Test("One that is open for writing settles, whether it has bytes or not", arguments: ["", "x"])
  func written(text: String) throws {
    try fixture.write(text, to: "a")
    let writer = try Descriptor.open(fixture.path("a"), flags: O_WRONLY)
    try withExtendedLifetime(writer) {
      #expect(obstacle() == .writer)
      let event = try #require(try fixture.run()["a"])
      #expect(event.outcome.rawValue == explanation().state)
      #expect(event.reason == explanation().reason)
    }
  }

  @Test(
    "An empty file is rejected, and so is one that is almost all holes", arguments: [0, 2 << 30])
  func unfit(size: Int) throws {
    try fixture.write("", to: "a")
    try Descriptor.open(fixture.path("a"), flags: O_WRONLY).truncate(to: size)
    let flaw = try #require(obstacle())
    #expect(explanation().state == "unseen" && explanation().next.contains("rejects it"))
    let event = try #require(try fixture.run()["a"])
    #expect(event.outcome == .rejected && flaw.state == .rejected)
    #expect(event.reason == flaw.reason)
  }

  @Test("A fresh file waits, unless its source needs no quiet")
  func fresh() throws {
    try fixture.write("bytes", to: "a")
    fixture.source.settle = TimeSpan(milliseconds: 3_600_000)
    guard case .fresh(let left, _) = obstacle() else {
      Issue.record("It does not wait.")
      return
    }
    #expect(left > .seconds(3500) && left <= .seconds(3600))
    #expect(explanation().state == "settling" && explanation().settlesIn != nil)
    fixture.source.complete = .close
    #expect(obstacle() == nil)
    #expect(try fixture.outcomes() == ["a": .imported])
  }
}
