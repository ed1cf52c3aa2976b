import Catalog
import Files
import Fixtures
import Glibc
import Ingest
import PipelineModel
import Records
import Testing

@testable import LibrarySession

/// A run from its lock to its end, in this process.
@Suite("A run", .timeLimit(.minutes(1)))
struct RunSessionTests {
  private func run(
    _ fixture: SessionFixture, _ output: RecordingOutput, _ signals: SignalHandler = SignalHandler()
  ) throws -> RunResult {
    let library = try fixture.configuredLibrary()
    return try RunSession(
      .locked(library.lock(signals: signals)), verb: "run", output: output, signals: signals
    ).run { try $0.importSources($1) }
  }

  @Test("It imports what is complete, records the run and releases the library")
  func imports() throws {
    let fixture = try SessionFixture()
    for index in 0..<3 { try fixture.put("file \(index)", as: BytePath("\(index).txt")) }
    let output = RecordingOutput()
    let result = try run(fixture, output)
    #expect(result.counts[.imported] == 3 && result.refused.isEmpty && output.files.count == 3)
    let record = try #require(try ReadingSession(fixture.search).catalog.run(result.run))
    #expect(record.counters["imported"] == 3 && record.endedAt != nil)
    #expect(try fixture.configuredLibrary().attemptLock() != nil)
  }

  @Test("A signal ends it before the next file: what is left stays in its source")
  func signal() throws {
    let fixture = try SessionFixture()
    try fixture.put("file", as: "0.txt")
    let signals = SignalHandler()
    signals.receive(SIGTERM)
    let output = RecordingOutput()
    let result = try run(fixture, output, signals)
    #expect(signals.signal == SIGTERM && output.files.isEmpty)
    let record = try #require(try ReadingSession(fixture.search).catalog.run(result.run))
    #expect(record.counters["imported"] == 0 && record.endedAt != nil)
    let inbox = try Descriptor.openFolder(fixture.folder.appending("inbox"))
    #expect(try inbox.status(of: "0.txt").kind == .regular)
    #expect(try run(fixture, output).counts[.imported] == 1)
  }

  @Test("A missing source is refused; the others are imported, so the result is partial")
  func missingSource() throws {
    let fixture = try SessionFixture([
      "sources": [
        ["path": "inbox", "settle": "0ms"], ["path": "elsewhere", "settle": "0ms"],
      ]
    ])
    try fixture.put("file", as: "0.txt")
    let partial = try run(fixture, RecordingOutput())
    #expect(partial.refused.count == 1 && partial.isPartial && partial.counts[.imported] == 1)
    try fixture.configure(["sources": [["path": "elsewhere", "settle": "0ms"]]])
    let none = try run(fixture, RecordingOutput())
    #expect(none.refused.count == 1 && !none.isPartial)
  }
}
