import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Records
import Synchronization
import Testing

@testable import Ingest

@Suite("Bringing bytes into incoming/", .timeLimit(.minutes(2)))
struct IncomingTransferTests {
  @Test(
    "Files of a group are left where they were if the program is to end before they are flushed",
    arguments: [SourceConfiguration.Mode.move, .copy])
  func stoppedBeforeFlush(mode: SourceConfiguration.Mode) throws {
    let fixture = try IngestFixture(mode)
    var attempts: [ImportAttempt] = []
    for number in 0..<GroupFlush.fewestFiles {
      let name = BytePath("\(number)")
      try fixture.write("file \(number)", to: name, permissions: 0o640)
      attempts.append(try fixture.examined(name))
    }
    let before = try filesBelow(fixture.source.path)
    // Asked once for each file while it is read.
    let questions = Mutex(0)
    let steps = try fixture.transfer(flushesTogether: true) {
      questions.withLock { questions in
        questions += 1
        return questions > GroupFlush.fewestFiles
      }
    }.run(attempts)
    for (_, step) in steps {
      guard case .ended(.settling, let reason) = step else {
        Issue.record("It is \(step).")
        continue
      }
      #expect(reason.contains("asked to stop"))
    }
    #expect(try filesBelow(fixture.source.path) == before)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
    let folder = try Descriptor.openFolder(fixture.source.path)
    #expect(try folder.status(of: "0").permissions == 0o640)
  }

  @Test("A file that got the name of the examined one is given back as it is, and never stored")
  func swapped() throws {
    let fixture = try IngestFixture()
    try fixture.write("examined", to: "a", permissions: 0o640)
    let attempt = try fixture.examined("a")
    let folder = try Descriptor.openFolder(fixture.source.path)
    try folder.rename("a", to: folder, as: "b")
    let swapped = try fixture.write("swapped in", to: "a", permissions: 0o604)
    guard case .ended(.settling, let reason) = try fixture.transfer().run([attempt])[0].1 else {
      Issue.record("The file was taken.")
      return
    }
    #expect(reason.contains("Another file"))
    #expect(try fixture.identity("a").isSameFile(as: swapped))
    #expect(try folder.status(of: "a").permissions == 0o604)
    #expect(try folder.status(of: "b").permissions == 0o640)
    let files = try filesBelow(fixture.source.path)
    #expect(files == ["a": Array("swapped in".utf8), "b": Array("examined".utf8)])
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }

  @Test(
    "A file that can't go back to its name goes beside it, with its mode and its time",
    arguments: [1, 250, 255])
  func returned(length: Int) throws {
    let fixture = try IngestFixture()
    let name = BytePath(bytes: [UInt8](repeating: 0x61, count: length))
    let before = try fixture.write("taken", to: name, permissions: 0o640)
    let attempt = try fixture.examined(name)
    let path = "\(fixture.path(name))"
    let incoming = "\(fixture.layout.incoming.appending(attempt.incoming.itself))"
    let transfer = try fixture.transfer {
      // While it is read: a writer waits for the lease, mode and time are changed as
      // by a writer, and its name is taken again.
      _ = open(incoming, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      chmod(incoming, 0o444)
      utimes(incoming, nil)
      let other = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      write(other, "other", 5)
      close(other)
      return false
    }
    guard case .ended(.failed, let reason) = transfer.run([attempt])[0].1 else {
      Issue.record("The file was taken.")
      return
    }
    let suffix = Array(".returned-1".utf8)
    let beside = BytePath(bytes: name.bytes.prefix(255 - suffix.count) + suffix)
    #expect(reason.contains(beside.printable))
    let files = try filesBelow(fixture.source.path)
    #expect(files == [name: Array("other".utf8), beside: Array("taken".utf8)])
    let status = try Descriptor.openFolder(fixture.source.path).status(of: beside)
    #expect(status.identity.isSameFile(as: before) && status.permissions == 0o640)
    #expect(try filesBelow(fixture.layout.incoming).isEmpty)
  }

  @Test("A fresh file that is seen late in a scan is waited for a whole settle window")
  func seenLate() throws {
    let fixture = try IngestFixture()
    fixture.source.settle = TimeSpan(milliseconds: 60_000)
    try fixture.write("fresh", to: "a")
    let visit = try SourceVisit(
      fixture.source, library: try fixture.library(), report: fixture.report, interleaved: .none,
      isStopped: { false })
    let seen = Mutex<ContinuousClock.Instant?>(nil)
    try visit.scan {
      usleep(20_000)
      seen.withLock { $0 = $0 ?? ContinuousClock().now }
      return false
    }
    let earliest = try #require(seen.withLock { $0 })
    #expect(visit.settledAt >= earliest + .seconds(60))
    #expect(fixture.exists("a"))
  }
}
