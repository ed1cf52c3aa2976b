import Catalog
import Configuration
import Files
import Fixtures
import Foundation
import Glibc
import Ingest
import PipelineModel
import Synchronization
import Testing

@Suite("Taking only what is complete", .timeLimit(.minutes(2)))
struct CompletenessTests {
  /// Does something again and again on a thread of its own, until it is told to stop.
  private final class Busy: Sendable {
    private let isStopped = Atomic(false)
    private let ended = DispatchSemaphore(value: 0)

    init(every milliseconds: UInt32, _ body: @escaping @Sendable () -> Bool) {
      Thread { [self] in
        while !isStopped.load(ordering: .relaxed), body() { usleep(milliseconds * 1000) }
        ended.signal()
      }.start()
    }

    func stop() {
      isStopped.store(true, ordering: .relaxed)
      ended.wait()
    }
  }

  /// A file that takes a while to be read.
  private func makeLarge(_ scene: Scene, _ name: BytePath) throws {
    let file = try Descriptor.open(scene.path(name), flags: O_WRONLY | O_CREAT, mode: 0o644)
    let piece = [UInt8](repeating: 0x5A, count: 1 << 20)
    for _ in 0..<160 { try file.write(piece) }
  }

  /// Opens a file for writing as soon as something is in `incoming/`, and adds a byte.
  private func disturb(_ scene: Scene, _ path: @escaping @Sendable () -> String?) -> Busy {
    Busy(every: 1) {
      guard let path = path() else { return true }
      let number = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
      guard number >= 0 else { return true }
      write(number, "x", 1)
      close(number)
      return false
    }
  }

  private static func firstEntry(of folder: String) -> String? {
    // A race with the hand-off is the point here.
    (try? FileManager.default.contentsOfDirectory(atPath: folder))?.first.map { "\(folder)/\($0)" }
  }

  @Test("A file that changes while it is copied is left for another time")
  func changesWhileCopied() throws {
    let scene = try Scene(.copy)
    try makeLarge(scene, "a")
    let (incoming, source) = ("\(scene.layout.incoming)", "\(scene.path("a"))")
    try scene.library()
    let busy = disturb(scene) { Self.firstEntry(of: incoming) == nil ? nil : source }
    let event = try #require(try scene.run()["a"])
    busy.stop()
    #expect(event.outcome == .settling)
    #expect(event.reason == "It changed while it was read.")
    #expect(try scene.assets().isEmpty)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(try scene.assets().first?.size == 160 << 20 + 1)
  }

  @Test("A file that somebody writes to while it is taken by rename is given back")
  func changesWhileRenamed() throws {
    let scene = try Scene()
    try makeLarge(scene, "a")
    let incoming = "\(scene.layout.incoming)"
    try scene.library()
    // Whoever knows where the file is now can still open it, and waits for the lease.
    let busy = disturb(scene) { Self.firstEntry(of: incoming) }
    let event = try #require(try scene.run()["a"])
    busy.stop()
    #expect(event.outcome == .settling)
    #expect(event.reason == "It was changed while it was taken.")
    #expect(scene.exists("a"))
    #expect(try scene.folder(of: "a").status(of: "a").permissions == 0o644)
    #expect(try filesBelow(scene.layout.incoming).isEmpty)
    #expect(try scene.assets().isEmpty)
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(try scene.problems().isEmpty)
  }

  @Test(
    "A file that somebody has open for writing is left, whatever the mode",
    arguments: SourceConfiguration.Mode.allCases)
  func openForWriting(mode: SourceConfiguration.Mode) throws {
    let scene = try Scene(mode)
    try scene.write("half", to: "a")
    var writer: Descriptor? = try Descriptor.open(scene.path("a"), flags: O_WRONLY | O_APPEND)
    #expect(try scene.outcomes() == ["a": .settling])
    #expect(scene.exists("a"))
    try writer?.write(Array(" and half".utf8))
    writer = nil
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(try scene.assets().first?.size == 13)
  }

  @Test("A fresh file is waited for, one settle window at most")
  func fresh() throws {
    let scene = try Scene()
    scene.source.settle = TimeSpan(milliseconds: 400)
    try scene.write("hello", to: "a")
    let clock = ContinuousClock()
    let start = clock.now
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(clock.now - start >= .milliseconds(300))
  }

  @Test("A file that is older than the window is taken at once")
  func old() throws {
    let scene = try Scene()
    try scene.write("hello", to: "a")
    usleep(300_000)
    scene.source.settle = TimeSpan(milliseconds: 250)
    try scene.library()
    // With no fresh file there is nothing to wait for.
    #expect(try scene.outcomes() == ["a": .imported])
  }

  @Test("A file that is written to while it is waited for is settling, and taken later")
  func stillWritten() throws {
    let scene = try Scene()
    scene.source.settle = TimeSpan(milliseconds: 400)
    try scene.write("hello", to: "a")
    try scene.write("quiet", to: "b")
    let path = "\(scene.path("a"))"
    // Opened and closed again each time, so that no writer is there to be seen.
    let busy = Busy(every: 50) {
      let number = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
      guard number >= 0 else { return true }
      write(number, "x", 1)
      close(number)
      return true
    }
    #expect(try scene.outcomes() == ["a": .settling, "b": .imported])
    busy.stop()
    #expect(scene.exists("a"))
    #expect(try scene.outcomes() == ["a": .imported])
  }

  @Test("With complete “close” a fresh file is taken at once")
  func closed() throws {
    let scene = try Scene()
    scene.source.settle = TimeSpan(milliseconds: 30_000)
    scene.source.complete = .close
    try scene.write("hello", to: "a")
    let clock = ContinuousClock()
    let start = clock.now
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(clock.now - start < .seconds(20))
  }

  @Test("A file that can't be read fails alone, and is tried again")
  func unreadableFile() throws {
    let temporary = try TemporaryFolder()
    try #require(
      chown("\(temporary.path)", Unprivileged.user, Unprivileged.user) == 0 || geteuid() != 0)
    try Unprivileged.run {
      let scene = try Scene(.copy, in: temporary)
      try scene.write("hello", to: "a")
      let path = "\(scene.path("a"))"
      try #require(chmod(path, 0) == 0)
      let event = try #require(try scene.run()["a"])
      #expect(event.outcome == .failed)
      #expect(event.reason?.contains("Permission denied") == true)
      #expect(try scene.outcomes() == ["a": .failed])
      try #require(chmod(path, 0o400) == 0)
      #expect(try scene.outcomes() == ["a": .imported])
      scene.close()
    }
  }

  @Test(
    "A file of which nobody can say whether it is written to goes in the next run, if unchanged",
    .enabled(if: geteuid() == 0), arguments: [false, true])
  func withoutLease(isChanged: Bool) throws {
    let temporary = try TemporaryFolder()
    try #require(chown("\(temporary.path)", Unprivileged.user, Unprivileged.user) == 0)
    try Unprivileged.run {
      let scene = try Scene(in: temporary)
      try scene.write("hello", to: "a")
    }
    let path = "\(temporary.appending("source/a"))"
    try #require(chown(path, 0, 0) == 0)
    // What is expected is asked here: on a thread of its own it belongs to no test.
    let run: @Sendable () throws -> ([BytePath: Sighting.State], isThere: Bool, assets: Int) = {
      let scene = try Scene(in: temporary)
      defer { scene.close() }
      return (try scene.outcomes(), scene.exists("a"), try scene.assets().count)
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
      let scene = try Scene(.copy, in: temporary)
      try scene.write("hello", to: "a/b/c")
      #expect(try scene.outcomes() == ["a/b/c": .imported])
      let path = "\(scene.path("a"))"
      try #require(chmod(path, 0) == 0)
      #expect(try scene.outcomes() == ["a": .failed])
      #expect(try scene.sighting("a/b/c")?.state == .imported)
      try #require(chmod(path, 0o700) == 0)
      let outcomes = try scene.outcomes()
      #expect(outcomes["a/b/c"] == nil)
      #expect(try scene.sighting("a/b/c")?.state == .imported)
      #expect(try scene.assets().count == 1)
      scene.close()
    }
  }
}
