import Catalog
import Configuration
import Files
import Fixtures
import Foundation
import Glibc
import Ingest
import PipelineModel
import Records
import Synchronization
import Testing

@Suite("Taking only what is complete", .timeLimit(.minutes(2)))
struct CompletenessTests {
  /// Takes what is complete, and disturbs a file once, while its bytes are read.
  ///
  /// - Parameter disturb: gets the path of what is in `incoming/`, from the thread that reads.
  /// - Returns: what became of the file.
  private func run(
    _ fixture: IngestFixture, disturbing disturb: @escaping @Sendable (String) -> Void
  ) throws -> FileEvent? {
    let folder = "\(fixture.layout.incoming)"
    let isDone = Atomic(false)
    fixture.report.events = []
    _ = try Ingest(into: fixture.library(), report: fixture.report) {
      // Asked for each mebibyte; before anything is read there is nothing in the folder.
      let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
      if let name = names?.first, !isDone.exchange(true, ordering: .relaxed) {
        disturb("\(folder)/\(name)")
      }
      return false
    }.importSources([fixture.source])
    let wasDisturbed = isDone.load(ordering: .relaxed)
    #expect(wasDisturbed)
    return fixture.report.events.first
  }

  @Test("A file that changes while it is copied is left for another time")
  func changesWhileCopied() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("hello", to: "a")
    let source = "\(fixture.path("a"))"
    let event = try run(fixture) { _ in
      let number = open(source, O_WRONLY | O_APPEND | O_CLOEXEC)
      write(number, "x", 1)
      close(number)
    }
    #expect(event?.outcome == .settling)
    #expect(event?.reason == "It changed while it was read.")
    #expect(try fixture.assets().isEmpty)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(try fixture.assets().first?.size == 6)
  }

  @Test("A file that somebody writes to while it is taken by rename is given back")
  func changesWhileRenamed() throws {
    let fixture = try IngestFixture()
    try fixture.write("hello", to: "a")
    let isWritten = DispatchSemaphore(value: 0)
    let event = try run(fixture) { path in
      // Whoever knows where the file is now can still open it, and waits for the lease: this writer
      // only asks, so that the lease is broken for sure, and the next one waits.
      _ = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      Thread.detachNewThread {
        let number = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        if number >= 0 {
          write(number, "x", 1)
          close(number)
        }
        isWritten.signal()
      }
    }
    isWritten.wait()
    #expect(event?.outcome == .settling)
    #expect(event?.reason == "It changed while it was being imported.")
    #expect(fixture.exists("a"))
    #expect(try fixture.folder(of: "a").status(of: "a").permissions == 0o644)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
    #expect(try fixture.assets().isEmpty)
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(try fixture.problems().isEmpty)
  }

  @Test(
    "A file that somebody has open for writing is left, whatever the mode",
    arguments: SourceConfiguration.Mode.allCases)
  func openForWriting(mode: SourceConfiguration.Mode) throws {
    let fixture = try IngestFixture(mode)
    try fixture.write("half", to: "a")
    var writer: Descriptor? = try Descriptor.open(fixture.path("a"), flags: O_WRONLY | O_APPEND)
    #expect(try fixture.outcomes() == ["a": .settling])
    #expect(fixture.exists("a"))
    try writer?.write(Array(" and half".utf8))
    writer = nil
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(try fixture.assets().first?.size == 13)
  }

  @Test("A file that is older than the window is taken at once")
  func old() throws {
    let fixture = try IngestFixture()
    try fixture.write("hello", to: "a")
    usleep(300_000)
    fixture.source.settle = TimeSpan(milliseconds: 250)
    try fixture.library()
    // With no fresh file there is nothing to wait for.
    #expect(try fixture.outcomes() == ["a": .imported])
  }

  @Test("With complete “close” a fresh file is taken at once")
  func closed() throws {
    let fixture = try IngestFixture()
    // Far longer than the time limit of this suite.
    fixture.source.settle = TimeSpan(milliseconds: 3_600_000)
    fixture.source.complete = .close
    try fixture.write("hello", to: "a")
    #expect(try fixture.outcomes() == ["a": .imported])
  }

  @Test("A file that can't be read fails alone, and is tried again")
  func unreadableFile() throws {
    let temporary = try TemporaryFolder()
    try #require(
      chown("\(temporary.path)", Unprivileged.user, Unprivileged.user) == 0 || geteuid() != 0)
    try Unprivileged.run {
      let fixture = try IngestFixture(.copy, in: temporary)
      try fixture.write("hello", to: "a")
      let path = "\(fixture.path("a"))"
      try #require(chmod(path, 0) == 0)
      let event = try #require(try fixture.run()["a"])
      #expect(event.outcome == .failed)
      #expect(event.reason?.contains("Permission denied") == true)
      #expect(try fixture.outcomes() == ["a": .failed])
      try #require(chmod(path, 0o400) == 0)
      #expect(try fixture.outcomes() == ["a": .imported])
      fixture.close()
    }
  }

  @Test(
    "A file of which nobody can say whether it is written to goes in the next run, if unchanged",
    .enabled(if: geteuid() == 0), arguments: [false, true])
  func withoutLease(isChanged: Bool) throws {
    let temporary = try TemporaryFolder()
    try #require(chown("\(temporary.path)", Unprivileged.user, Unprivileged.user) == 0)
    try Unprivileged.run {
      let fixture = try IngestFixture(in: temporary)
      try fixture.write("hello", to: "a")
    }
    let path = "\(temporary.appending("source/a"))"
    try #require(chown(path, 0, 0) == 0)
    // What is expected is asked here: on a thread of its own it belongs to no test.
    let run: @Sendable () throws -> ([BytePath: Sighting.State], isThere: Bool, assets: Int) = {
      let fixture = try IngestFixture(in: temporary)
      defer { fixture.close() }
      return (try fixture.outcomes(), fixture.exists("a"), try fixture.assets().count)
    }
    let first = try Unprivileged.run(run)
    #expect(first == (["a": .imported], true, 1))
    if isChanged { try Data("hello again".utf8).write(to: URL(fileURLWithPath: path)) }
    let second = try Unprivileged.run(run)
    #expect(second == (isChanged ? ["a": .imported] : [:], isChanged, isChanged ? 2 : 1))
    let third = try Unprivileged.run(run)
    #expect(third == ([:], false, isChanged ? 2 : 1))
  }

  @Test("Of what lies in a folder that can't be read, nothing is said to be gone")
  func unreadableFolder() throws {
    let temporary = try TemporaryFolder()
    try #require(
      chown("\(temporary.path)", Unprivileged.user, Unprivileged.user) == 0 || geteuid() != 0)
    try Unprivileged.run {
      let fixture = try IngestFixture(.copy, in: temporary)
      try fixture.write("hello", to: "a/b/c")
      #expect(try fixture.outcomes() == ["a/b/c": .imported])
      let path = "\(fixture.path("a"))"
      try #require(chmod(path, 0) == 0)
      #expect(try fixture.outcomes() == ["a": .failed])
      #expect(try fixture.sighting("a/b/c")?.state == .imported)
      try #require(chmod(path, 0o700) == 0)
      let outcomes = try fixture.outcomes()
      #expect(outcomes["a/b/c"] == nil)
      #expect(try fixture.sighting("a/b/c")?.state == .imported)
      #expect(try fixture.assets().count == 1)
      fixture.close()
    }
  }
}
