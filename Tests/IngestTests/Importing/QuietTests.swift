import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Records
import Testing

@testable import Ingest

/// Changes that show in nothing but the time at which a file's status changed.
@Suite("Files must be quiet for a settle window", .timeLimit(.minutes(2)))
struct QuietTests {
  /// Far longer than any test takes, so that what happens here happens within it.
  private static let window = TimeSpan(milliseconds: 3_600_000)

  private let fixture: IngestFixture

  init() throws {
    fixture = try IngestFixture()
    fixture.source.settle = Self.window
  }

  /// Writes other bytes to a file, as many as before, and gives it its modification time again.
  private func change(_ path: BytePath, to text: String) throws {
    let file = try Descriptor.open(path, flags: O_WRONLY)
    let before = try file.status().identity
    // The file system's clock moves in ticks, and a change within one leaves no trace.
    repeat {
      try file.seek(to: 0)
      try file.write(Array(text.utf8))
      try file.setModified(before.modified)
    } while try file.status().identity.changed == before.changed
    #expect(try file.status().identity.isSameFile(as: before))
  }

  @Test("In a run, a change that leaves size and time as they were is noticed in the window")
  func run() throws {
    try fixture.write("hello", to: "a")
    try fixture.write("quiet", to: "b")
    let visit = try SourceVisit(
      fixture.source, library: fixture.library(), report: fixture.report, isStopped: { false })
    try visit.scan { false }
    #expect(fixture.report.events.isEmpty)
    try change(fixture.path("a"), to: "HELLO")
    visit.settledAt = ContinuousClock().now
    try visit.importSettled { false }
    let outcomes = fixture.report.events.map { ($0.path.lastComponent, $0.outcome) }
    #expect(Dictionary(uniqueKeysWithValues: outcomes) == ["a": .settling, "b": .imported])
    #expect(try fixture.exists("a") && fixture.assets().map(\.name) == ["b"])
  }

  @Test("A fresh file is waited for, until it has been quiet for a window")
  func waiting() throws {
    try fixture.write("hello", to: "a")
    try fixture.write("quiet", to: "b")
    let visit = try SourceVisit(
      fixture.source, library: fixture.library(), report: fixture.report, isStopped: { false })
    let start = ContinuousClock().now
    try visit.scan { false }
    #expect(fixture.report.events.isEmpty && visit.settledAt >= start + Self.window.duration)
    // Closed again at once, so that no writer is there to be seen.
    try fixture.write("hello again", to: "a")
    let end = ContinuousClock().now + .milliseconds(200)
    visit.settledAt = end
    try visit.importSettled { false }
    #expect(ContinuousClock().now >= end)
    #expect(try fixture.exists("a") && fixture.assets().map(\.name) == ["b"])
    fixture.source.settle = TimeSpan(milliseconds: 0)
    #expect(try fixture.outcomes() == ["a": .imported])
  }

  @Test("In a watch, a change that nobody tells of is noticed in each window")
  func watch() throws {
    let outside = fixture.temporary.appending("outside")
    try Descriptor.openFolder(outside.parent).writeDurably(Array("one".utf8), as: "outside")
    let source = WatchedSource(
      fixture.source, library: try fixture.library(), rescan: Self.window.duration,
      report: Report(fixture.report), wakeup: Wakeup(), isStopped: { false })
    try source.begin()
    while try source.work() {}
    // The kernel tells of the file in the watched folder, and not of what is done by its other
    // name.
    try #require(link("\(outside)", "\(fixture.path("a"))") == 0)
    while source.table["a"] == nil { _ = try source.work() }
    let later = ContinuousClock().now + .seconds(86_400)
    for text in ["two", "six"] {
      try change(outside, to: text)
      _ = try source.importDue(later)
      #expect(try source.table["a"] != nil && fixture.assets().isEmpty && fixture.exists("a"))
    }
    _ = try source.importDue(later)
    #expect(try fixture.assets().map(\.digest) == [fixture.digest("six")])
    try source.finish()
  }

  /// Remembers what ingest tells, and nothing of the watch itself.
  private final class Report: WatchReport {
    let inner: RecordingReport
    init(_ inner: RecordingReport) { self.inner = inner }
    func file(_ event: FileEvent) { inner.file(event) }
    func committed() { inner.committed() }
    func warning(_ message: String) { inner.warning(message) }
    func watch(_ event: WatchEvent) {}
  }
}
