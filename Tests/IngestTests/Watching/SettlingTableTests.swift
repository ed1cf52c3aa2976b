import Configuration
import PipelineModel
import Testing

@testable import Ingest

@Suite("Waiting for files to be complete", .timeLimit(.minutes(1)))
struct SettlingTableTests {
  private let start = ContinuousClock().now
  private let identity = FileIdentity(inode: 1, size: 2, modified: 3, changed: 4)

  private func table(
    _ completion: SourceConfiguration.Completion = .quiet
  ) -> SettlingTable {
    var configuration = SourceConfiguration(path: "/source")
    configuration.complete = completion
    return SettlingTable(configuration)
  }

  @Test(
    "What happened to a file decides whether it waits",
    arguments: [
      (.created, .quiet, true), (.closed, .quiet, true), (.attributes, .quiet, true),
      (.movedIn, .quiet, false), (.created, .close, true), (.closed, .close, false),
      (.attributes, .close, true), (.movedIn, .close, false),
    ] as [(DirtyPaths.Change, SourceConfiguration.Completion, Bool)])
  func completion(
    change: DirtyPaths.Change, completion: SourceConfiguration.Completion, waits: Bool
  ) {
    var table = table(completion)
    table.arm("a", change, identity, age: .zero, now: start)
    let atOnce = table.popDue(now: start)
    #expect((atOnce == nil) == waits)
    let early = table.popDue(now: start + .milliseconds(1999))
    #expect(early == nil)
    let later = table.popDue(now: start + .seconds(2))
    #expect(later?.entry.mustBeQuiet == (waits ? true : nil))
  }

  @Test("A file that was merely found waits unless it is older than a window")
  func listed() {
    var table = table(.close)
    table.arm("young", .listed, identity, age: .seconds(1), now: start)
    table.arm("old", .listed, identity, age: .seconds(2), now: start)
    table.arm("of-tomorrow", .listed, identity, age: .seconds(-86_400), now: start)
    var served: [BytePath?] = []
    for seconds in [0, 0, 2, 2, 2] {
      served.append(table.popDue(now: start + .seconds(seconds))?.path)
    }
    #expect(served == ["old", nil, "of-tomorrow", "young", nil])
  }

  @Test("Each new event begins the window anew, and one window after the first it is late")
  func rearmedByEvents() {
    var table = table()
    var isDue = false
    for step in 0..<10 {
      let now = start + .seconds(step)
      let entry = table.arm("a", .closed, identity, age: .zero, now: now)
      #expect(table.isLate(entry, now: now) == (step == 3))
      if table.isLate(entry, now: now) { table.markTold("a") }
      isDue = isDue || table.popDue(now: now) != nil
    }
    #expect(!isDue)
    let popped = table.popDue(now: start + .seconds(11))
    #expect(popped?.path == "a")
  }

  @Test("A writer who stays is looked at ever more rarely, one who writes each window")
  func delays() {
    var table = table()
    table.arm("a", .created, identity, age: .zero, now: start)
    var now = start
    var waits: [Double] = []
    for _ in 0..<8 {
      guard let next = table.nextDue, let (path, entry) = table.popDue(now: next) else { break }
      waits.append((next - now) / .seconds(1))
      now = next
      table.rearm(path, entry, identity, isTold: true, now: now)
    }
    #expect(waits == [2, 2, 4, 8, 16, 32, 60, 60])
    let other = FileIdentity(inode: 1, size: 9, modified: 9, changed: 9)
    if let next = table.nextDue, let (path, entry) = table.popDue(now: next) {
      table.rearm(path, entry, other, isTold: true, now: next)
      #expect(table.nextDue == next + .seconds(2))
    }
  }

  @Test("Without a window nothing is looked at in a hot loop")
  func noWindow() {
    var configuration = SourceConfiguration(path: "/source")
    configuration.settle = TimeSpan(milliseconds: 0)
    var table = SettlingTable(configuration)
    let entry = table.arm("a", .closed, identity, age: .zero, now: start)
    let popped = table.popDue(now: start)
    #expect(popped?.path == "a")
    table.rearm("a", entry, identity, isTold: false, now: start)
    #expect(table.nextDue == start + .milliseconds(100))
  }

  @Test("Files are served in the order of their paths")
  func order() {
    var table = table()
    for name in ["c", "a/2", "b", "a/1"] {
      table.arm(BytePath(name), .movedIn, identity, age: .zero, now: start)
    }
    var served: [BytePath] = []
    while let (path, _) = table.popDue(now: start) { served.append(path) }
    #expect(served == ["a/1", "a/2", "b", "c"])
    #expect(table.count == 0)
  }

  @Test("A group grows while it is quick and full, and shrinks when it is slow")
  func groupSize() {
    var size = GroupSize()
    let first = size.files
    size.learn(wasFull: false, duration: .milliseconds(1))
    #expect(size.files == first)
    for _ in 0..<5 { size.learn(wasFull: true, duration: .milliseconds(400)) }
    #expect(size.files == first * 32)
    size.learn(wasFull: true, duration: .milliseconds(800))
    #expect(size.files == first * 32)
    for _ in 0..<10 { size.learn(wasFull: true, duration: .seconds(3)) }
    #expect(size.files == 64)
    for _ in 0..<20 { size.learn(wasFull: true, duration: .zero) }
    #expect(size.files > 64 && size.files <= 1024)
    var young = GroupSize()
    young.learn(wasFull: true, duration: .seconds(3))
    #expect(young.files == first)
  }

  @Test("A source that is polled is looked through for at most a tenth of the time")
  func polling() {
    var schedule = RescanSchedule(rescan: .seconds(300), now: start)
    schedule.isPolling = true
    let first = schedule.begin(start)
    schedule.end(start, duration: .milliseconds(10))
    #expect(schedule.next == start + .seconds(2))
    let second = schedule.begin(start + .seconds(2))
    schedule.end(start + .seconds(3), duration: .seconds(1))
    #expect(schedule.next == start + .seconds(13))
    _ = schedule.begin(start + .seconds(13))
    schedule.end(start + .seconds(113), duration: .seconds(100))
    #expect(schedule.next == start + .seconds(313))
    // What failed is tried again only as often as the safety rescan.
    let third = schedule.begin(start + .seconds(313))
    #expect([first, second, third] == [true, false, true])
  }
}
