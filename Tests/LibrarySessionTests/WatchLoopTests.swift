import Catalog
import Files
import Fixtures
import Foundation
import Glibc
import Ingest
import LibraryControl
import PipelineModel
import Records
import Synchronization
import Testing

@testable import LibrarySession

/// A watch in this process, on a thread of its own.
@Suite("A watch", .timeLimit(.minutes(1)))
struct WatchLoopTests {
  private let fixture: SessionFixture
  private let signals = SignalHandler()
  private let wakeup = Wakeup()

  init() throws { fixture = try SessionFixture() }

  /// Ends the watch as a signal does.
  private func end() {
    signals.receive(SIGTERM)
    wakeup.wake()
  }

  private func watch(_ output: RecordingOutput) throws {
    try WatchLoop(
      output: output, signals: signals, service: ServiceManager(environment: [:]), wakeup: wakeup
    ).run { .locked(try fixture.configuredLibrary().lock()) }
  }

  /// Watches on another thread while `body` runs, which ends it.
  private func watching(_ output: RecordingOutput, _ body: () throws -> Void) throws {
    let failure = Mutex<String?>(nil)
    let isOver = DispatchSemaphore(value: 0)
    let thread = Thread { [self] in
      do { try watch(output) } catch { failure.withLock { $0 = "\(error)" } }
      isOver.signal()
    }
    thread.start()
    defer {
      end()
      isOver.wait()
      #expect(failure.withLock { $0 } == nil)
    }
    try body()
  }

  /// What changes the library while the watch holds it.
  private func perform(_ request: LibraryRequest, _ output: RecordingOutput) throws -> RequestResult
  {
    try LibraryAccess(fixture.configuredLibrary(), wait: .seconds(20))
      .perform(request, output: output, signals: SignalHandler())
  }

  private func holder() throws -> ControlClient? {
    let library = try fixture.configuredLibrary()
    return try ControlClient(of: library.found)
  }

  @Test("It imports a file, and a signal ends it with a summary of the run")
  func signal() throws {
    try fixture.put("file", as: "0.txt")
    let output = RecordingOutput { [self] event in
      if event.outcome == .imported { end() }
    }
    try watch(output)
    let run = try #require(output.runs.first)
    #expect(output.runs.count == 1 && run.counts[.imported] == 1 && signals.signal == SIGTERM)
    #expect(try fixture.configuredLibrary().attemptLock() != nil)
    let record = try #require(try ReadingSession(fixture.search).catalog.run(run.run))
    #expect(record.verb == "watch" && record.endedAt != nil)
  }

  @Test("It serves requests of others, and answers with their result")
  func requests() throws {
    let output = RecordingOutput()
    let elsewhere = try TemporaryFolder()
    let path = elsewhere.appending("one.txt")
    try Data("one".utf8).write(to: URL(fileURLWithPath: path.description))
    try watching(output) {
      try waitUntil { try holder() != nil }
      let told = RecordingOutput()
      let result = try #require(try holder()?.importPaths([path], output: told))
      #expect(result.counts[.imported] == 1 && told.files.map(\.path) == [path])
      let asset = try #require(told.files.first?.asset)
      #expect(try perform(.trash([asset]), told).count("assets") == 1)
      #expect(try ReadingSession(fixture.search).catalog.asset(asset)?.state == .trashed)
    }
    // They are no files of the watch.
    #expect(output.files.isEmpty)
  }

  @Test("It lets go of the library for a while, and takes it back")
  func letGo() throws {
    try watching(RecordingOutput()) {
      try waitUntil { try holder() != nil }
      let client = try #require(try holder())
      _ = try client.ask(.letGo, report: RunReport(RecordingOutput()))
      let library = try fixture.configuredLibrary()
      var locked: LockedLibrary?
      try waitUntil {
        locked = try library.attemptLock()
        return locked != nil
      }
      #expect(try holder() == nil)
      locked = nil
      try waitUntil { try holder() != nil }
    }
  }
}
