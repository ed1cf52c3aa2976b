import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Records
import Synchronization
import Testing

@testable import Catalog
@testable import Ingest

@Suite("Watching", .timeLimit(.minutes(5)))
struct SourceWatcherTests {
  /// A watch over a fixture's source, worked from the test.
  private final class Bench {
    final class Report: WatchReport {
      let inner: RecordingReport
      var notices: [WatchEvent] = []
      init(_ inner: RecordingReport) { self.inner = inner }
      func file(_ event: FileEvent) { inner.file(event) }
      func committed() { inner.committed() }
      func warning(_ message: String) { inner.warning(message) }
      func watch(_ event: WatchEvent) { notices.append(event) }
    }

    let fixture: IngestFixture
    let report: Report
    let watch: SourceWatcher
    let wakeup = Wakeup()
    var rounds = 0

    init(
      _ mode: SourceConfiguration.Mode = .move, rescan: Duration = .seconds(300),
      reserve: Int = 0, _ change: (inout SourceConfiguration) -> Void = { _ in }
    ) throws {
      fixture = try IngestFixture(mode)
      fixture.source.settle = TimeSpan(milliseconds: 300)
      change(&fixture.source)
      report = Report(fixture.report)
      watch = SourceWatcher(
        [fixture.source], rescan: rescan, library: try fixture.library(reserve: reserve),
        report: report, wakeup: wakeup,
        hooks: .init(
          isStopped: { false }, interleaved: .none, tick: { ContinuousClock().now + .seconds(60) }))
      try watch.begin()
      try work(for: .milliseconds(50))
    }

    /// Works as the loop does, for a while.
    func work(for time: Duration) throws { try work(within: time) { false } }

    /// Works as the loop does, until something is so.
    @discardableResult
    func work(within time: Duration = .seconds(60), until isDone: () -> Bool) throws -> Bool {
      let end = ContinuousClock().now + time
      while ContinuousClock().now < end {
        let next = try watch.round()
        rounds += 1
        if isDone() { return true }
        if let next { wakeup.sleep(until: min(next, end)) }
      }
      return isDone()
    }

    func outcomes(_ name: BytePath) -> [Sighting.State] {
      fixture.report.events.filter { $0.path == fixture.path(name) }.map(\.outcome)
    }

    @discardableResult
    func isImported(_ name: BytePath) throws -> Bool {
      try work { self.outcomes(name).contains(.imported) }
    }
  }

  @Test("A file that was there before is taken, and one that comes later")
  func both() throws {
    let bench = try Bench()
    try bench.fixture.write("later", to: "later.txt")
    #expect(try bench.isImported("later.txt"))
    #expect(!bench.fixture.exists("later.txt"))
    #expect(try bench.fixture.problems().isEmpty)
  }

  @Test("Rows that an older version kept of moved files go when there is nothing else to do")
  func leftRows() throws {
    let bench = try Bench { $0.settle = TimeSpan(milliseconds: 0) }
    let catalog = try bench.fixture.library().catalog
    try catalog.write { (writer) throws(CatalogError) in
      try writer.connection.execute(
        "INSERT INTO setting (key, value) VALUES (?, '')", Setting.impliedSightings)
    }
    let isSearched = {
      try catalog.read { (connection) throws(CatalogError) in
        try connection.first(Setting.read, Setting.impliedSightings) { _ in false } ?? true
      }
    }
    try bench.fixture.library().mayHaveImpliedSightings = true
    try bench.work { (try? isSearched()) == true }
    #expect(try isSearched())
  }

  @Test("A file that is not closed for a while is one import, with its final bytes")
  func slowWriter() throws {
    let bench = try Bench { $0.settle = TimeSpan(milliseconds: 3000) }
    let folder = try Descriptor.openFolder(bench.fixture.source.path)
    var text = ""
    // Until it has taken longer than a window, and was told.
    while bench.outcomes("slow.txt").isEmpty {
      // Opened anew each time, and quiet for far less than a window in between.
      let file = try Descriptor.open(
        "slow.txt", in: folder, flags: O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
      try file.write(Array("piece\n".utf8))
      text += "piece\n"
      try bench.work(for: .milliseconds(50))
    }
    #expect(try bench.isImported("slow.txt"))
    #expect(try bench.fixture.assets().map(\.digest) == [bench.fixture.digest(text)])
    #expect(bench.outcomes("slow.txt") == [.settling, .imported])
  }

  @Test("A file that somebody keeps open is told once, and taken when it is closed")
  func openWriter() throws {
    let bench = try Bench()
    let folder = try Descriptor.openFolder(bench.fixture.source.path)
    var file: Descriptor? = try Descriptor.open(
      "open.txt", in: folder, flags: O_WRONLY | O_CREAT, mode: 0o600)
    try file?.write(Array("whole".utf8))
    try bench.work { !bench.outcomes("open.txt").isEmpty }
    try bench.work(for: .milliseconds(1500))
    #expect(bench.outcomes("open.txt") == [.settling])
    #expect(try bench.fixture.sighting("open.txt")?.state == .settling)
    file = nil
    #expect(try bench.isImported("open.txt"))
    #expect(bench.outcomes("open.txt") == [.settling, .imported])
  }

  @Test("With “close” a file is taken as soon as its last writer closes it")
  func close() throws {
    let bench = try Bench {
      $0.complete = .close
      $0.settle = TimeSpan(milliseconds: 3_600_000)
    }
    try bench.fixture.write("closed", to: "closed.txt")
    #expect(try bench.isImported("closed.txt"))
    // Two writers: the first close is not the last.
    let folder = try Descriptor.openFolder(bench.fixture.source.path)
    var files = try (0..<2).map { _ in
      try Descriptor.open("two.txt", in: folder, flags: O_WRONLY | O_CREAT, mode: 0o600)
    }
    try files[0].write(Array("both".utf8))
    files.removeLast()
    try bench.work(for: .milliseconds(300))
    #expect(bench.outcomes("two.txt") == [])
    files.removeLast()
    #expect(try bench.isImported("two.txt"))
  }

  @Test("A name that is added to a file of elsewhere waits for the window, as nobody closes it")
  func link() throws {
    let bench = try Bench {
      $0.complete = .close
      $0.settle = TimeSpan(milliseconds: 400)
    }
    let outside = bench.fixture.temporary.appending("outside.txt")
    try Descriptor.openFolder(outside.parent).writeDurably(
      Array("linked".utf8), as: "outside.txt")
    let there = bench.fixture.path("linked.txt")
    let code = outside.description.withCString { old in
      there.description.withCString { Glibc.link(old, $0) }
    }
    try #require(code == 0)
    #expect(try bench.isImported("linked.txt"))
    #expect(try FileSystem.status(of: outside).links == 1)
  }

  @Test("A rename into the source is complete at once, a .part before it is not there")
  func rename() throws {
    let bench = try Bench { $0.settle = TimeSpan(milliseconds: 3_600_000) }
    try bench.fixture.write("loaded", to: "file.part")
    try bench.work(for: .milliseconds(200))
    #expect(bench.fixture.report.events.isEmpty)
    let folder = try Descriptor.openFolder(bench.fixture.source.path)
    try folder.rename("file.part", to: folder, as: "file.txt")
    #expect(try bench.isImported("file.txt"))
    #expect(try bench.fixture.sighting("file.part") == nil)
  }

  @Test("Folders made with a file in them are never missed")
  func nested() throws {
    let bench = try Bench()
    for round in 0..<50 {
      try bench.fixture.write("text \(round)", to: BytePath("\(round)/a/b/c/file.txt"))
      if round.isMultiple(of: 5) { _ = try bench.watch.round() }
    }
    try bench.work { bench.fixture.report.events.count { $0.outcome == .imported } == 50 }
    #expect(try bench.fixture.assets().count == 50)
  }

  @Test("A file that vanishes while it is waited for is no error")
  func vanished() throws {
    let bench = try Bench { $0.settle = TimeSpan(milliseconds: 3000) }
    try bench.fixture.write("x", to: "gone.txt")
    try bench.work(for: .milliseconds(100))
    try bench.fixture.remove("gone.txt")
    try bench.work(for: .milliseconds(3500))
    #expect(bench.outcomes("gone.txt").allSatisfy { $0 == .gone })
    #expect(bench.fixture.report.warnings.isEmpty)
  }

  @Test("A file that can't be taken is not tried in a hot loop, and told once")
  func failed() throws {
    // Copied, because it has a second name, and too large alone for what the reserve leaves.
    let free = try Descriptor.openFolder("/tmp").fileSystem().freeBytes
    try #require(free > 2 << 30, "needs 2 GiB of free space")
    let bench = try Bench(rescan: .seconds(1), reserve: free - 512 << 20) {
      $0.settle = TimeSpan(milliseconds: 0)
    }
    try bench.fixture.write("large", to: "a.txt")
    try #require(truncate(bench.fixture.path("a.txt").description, 900 << 20) == 0)
    let there = bench.fixture.path("b.txt").description
    let code = bench.fixture.path("a.txt").description.withCString { Glibc.link($0, there) }
    try #require(code == 0)
    try bench.work { !bench.outcomes("a.txt").isEmpty && !bench.outcomes("b.txt").isEmpty }
    bench.rounds = 0
    try bench.work(for: .seconds(3))
    #expect(bench.outcomes("a.txt") == [.failed])
    #expect(bench.outcomes("b.txt") == [.failed])
    // Two files, four rescans, and the closing of the source: nothing else wakes it.
    #expect(bench.rounds < 60)
    #expect(bench.fixture.exists("a.txt") && bench.fixture.exists("b.txt"))
  }

  @Test("Below the reserve a watch says so once and leaves all sources as they are")
  func full() throws {
    let bench = try Bench(rescan: .seconds(1), reserve: .max / 2) {
      $0.settle = TimeSpan(milliseconds: 0)
    }
    try bench.fixture.write("one", to: "a.txt")
    func told() -> Int {
      bench.report.notices.count { if case .full = $0 { true } else { false } }
    }
    try bench.work { told() > 0 }
    bench.rounds = 0
    try bench.work(for: .seconds(2))
    #expect(told() == 1 && bench.rounds < 60)
    #expect(bench.outcomes("a.txt").isEmpty && bench.fixture.exists("a.txt"))
  }

  @Test("A source that goes and comes back is watched again; nothing is said of its files")
  func rootGone() throws {
    let bench = try Bench(.copy)
    try bench.fixture.write("kept", to: "kept.txt")
    #expect(try bench.isImported("kept.txt"))
    let outside = try Descriptor.openFolder(bench.fixture.temporary.path)
    try outside.rename("source", to: outside, as: "away")
    try bench.work { bench.watch.counts.away == 1 }
    #expect(bench.watch.counts.away == 1)
    try bench.work(for: .milliseconds(2200))
    let told = bench.report.notices.count { if case .away = $0 { true } else { false } }
    #expect(told == 1)
    #expect(try bench.fixture.sighting("kept.txt")?.state == .imported)
    try outside.rename("away", to: outside, as: "source")
    try bench.work { bench.watch.counts.watched == 1 }
    try bench.fixture.write("new", to: "new.txt")
    #expect(try bench.isImported("new.txt"))
    #expect(bench.outcomes("kept.txt") == [.imported])
    #expect(bench.report.notices.contains(.returned(source: bench.fixture.source.path)))
  }

  @Test("A source that is another folder now is looked through before it is watched")
  func rootReplaced() throws {
    let bench = try Bench()
    let outside = try Descriptor.openFolder(bench.fixture.temporary.path)
    try outside.rename("source", to: outside, as: "old")
    try outside.makeFolder("source")
    try bench.fixture.write("in the new one", to: "a.txt")
    #expect(try bench.isImported("a.txt"))
    #expect(bench.watch.counts.watched == 1)
  }

  @Test("A source that is not there at the start is waited for")
  func late() throws {
    let fixture = try IngestFixture()
    let outside = try Descriptor.openFolder(fixture.temporary.path)
    try outside.removeFolder("source")
    let report = Bench.Report(fixture.report)
    let wakeup = Wakeup()
    let watch = SourceWatcher(
      [fixture.source], rescan: .seconds(300), library: try fixture.library(), report: report,
      wakeup: wakeup,
      hooks: .init(
        isStopped: { false }, interleaved: .none, tick: { ContinuousClock().now + .seconds(60) }))
    try watch.begin()
    #expect(watch.counts.away == 1)
    try outside.makeFolder("source")
    try fixture.write("there", to: "a.txt")
    let end = ContinuousClock().now + .seconds(60)
    while ContinuousClock().now < end, fixture.report.events.isEmpty {
      if let next = try watch.round() { wakeup.sleep(until: min(next, end)) }
    }
    #expect(fixture.report.events.map(\.outcome) == [.imported])
  }

  @Test("A file that is copied is told once, and again only when it changes")
  func copied() throws {
    let bench = try Bench(.copy, rescan: .seconds(1))
    try bench.fixture.write("one", to: "a.txt")
    #expect(try bench.isImported("a.txt"))
    try bench.work(for: .milliseconds(2500))
    #expect(bench.outcomes("a.txt") == [.imported])
    try bench.fixture.write("another", to: "a.txt")
    try bench.work { bench.outcomes("a.txt").count == 2 }
    let assets = try bench.fixture.assets()
    #expect(assets.count == 2)
    #expect(assets.contains { $0.supersedes != nil })
  }

  @Test("A file that is given back is not taken again at once")
  func givenBack() throws {
    let bench = try Bench { $0.duplicates = .keep }
    try bench.fixture.write("same", to: "a.txt")
    #expect(try bench.isImported("a.txt"))
    try bench.fixture.write("same", to: "b.txt")
    try bench.work { !bench.outcomes("b.txt").isEmpty }
    try bench.work(for: .milliseconds(1000))
    #expect(bench.outcomes("b.txt") == [.duplicate])
    #expect(bench.fixture.exists("b.txt"))
  }

  @Test("The interlude is served between two looks, when the catalog knows everything")
  func interleaved() throws {
    let fixture = try IngestFixture()
    let isDue = Mutex(false)
    let served = Mutex(0)
    let wakeup = Wakeup()
    let stop = Mutex(false)
    let watch = SourceWatcher(
      [fixture.source], rescan: .seconds(300), library: try fixture.library(),
      report: Bench.Report(fixture.report), wakeup: wakeup,
      hooks: .init(
        isStopped: { stop.withLock { $0 } },
        interleaved: InterleavedWork(isDue: { isDue.withLock { $0 } }) {
          isDue.withLock { $0 = false }
          served.withLock { $0 += 1 }
          stop.withLock { $0 = true }
        }, tick: { ContinuousClock().now + .seconds(60) }))
    try watch.begin()
    isDue.withLock { $0 = true }
    wakeup.wake()
    try watch.run()
    #expect(served.withLock { $0 } == 1)
  }
}
