import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// A strike at any call by which a process of one of two machines changes a file, or sends something to the database or
/// the store; then all go on.
///
/// With `PIPELINE_FAULTS=1` many calls are struck, otherwise a few, other ones in each run.
@Suite(
  "Faults: kills of one of several machines",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(60)), .seeded)
struct JoinedKillTests {
  @Test(
    "A machine that joins and is killed, or fails, at any call loses nothing and doubles nothing",
    arguments: [PreloadShim.Strike.kill, .tear, .ioError])
  func joined(strike: PreloadShim.Strike) throws {
    let bench = try StruckBench()
    let watch = try bench.joined.startWatch()
    // The first run makes more than others.
    try bench.put()
    try bench.joined.run()
    try bench.put()
    let (calls, writes) = try bench.count(["run", "--config", "second.json"])
    try bench.expectTaken()
    let title = "A machine that joins, \(strike.rawValue)"
    let places = bench.places(strike == .tear ? writes : Array(1...calls), for: title)
    var struck = 0
    for place in places {
      try bench.put()
      let outcome = try bench.run(["run", "--config", "second.json"], strike, at: place)
      expectEnd(outcome, strike, "\(title) at \(place)")
      if outcome.signal == SIGKILL { struck += 1 }
      let next = try bench.workspace.run("run", "--config", "second.json")
      #expect([0, 3].contains(next.exitCode), "after \(title) at \(place): \(next)")
      // Without a delay, as for a disk that has room again.
      if strike.isFailure { try bench.workspace.json("retry", "--all", "--config", "second.json") }
      try bench.expectTaken("after \(title) at \(place)")
    }
    // Some runs make fewer calls than the counted one.
    if !strike.isFailure { #expect(struck > 0, "\(title): \(places)") }
    FaultSelection.progress("\(title): \(struck) kills at \(places.count) of \(calls) calls")
    try bench.end(watch)
    try bench.expectSound()
  }

  /// Expects that a struck process was killed, or ended as it should.
  private func expectEnd(
    _ outcome: BuiltProgramOutcome, _ strike: PreloadShim.Strike, _ comment: Comment,
    at location: SourceLocation = #_sourceLocation
  ) {
    let isExpected =
      strike.isFailure
      ? [0, 1, 3].contains(outcome.exitCode) : outcome.signal == SIGKILL || outcome.exitCode == 0
    #expect(isExpected, "\(comment): \(outcome)", sourceLocation: location)
  }

  @Test(
    "An undo on a machine that joins, killed or failing at any call, loses nothing and is done by the next",
    arguments: [PreloadShim.Strike.kill, .tear, .ioError])
  func undo(strike: PreloadShim.Strike) throws {
    let bench = try StruckBench()
    let recorder = try bench.joined.startWatch()
    let words: [BytePath] = ["undo", "--config", "second.json"]
    try bench.putForReturn()
    let (calls, writes) = try bench.count(words)
    try bench.expectReturned()
    let title = "An undo on a machine that joins, \(strike.rawValue)"
    var struck = 0
    let places = bench.places(strike == .tear ? writes : Array(1...calls), for: title)
    for (number, place) in places.enumerated() {
      try bench.putForReturn()
      let outcome = try bench.run(words, strike, at: place)
      expectEnd(outcome, strike, "\(title) at \(place)")
      if outcome.signal == SIGKILL { struck += 1 }
      // What is back and not recorded is taken once more, or found by the next undo.
      if number.isMultiple(of: 2) { try bench.joined.run() }
      let next = try bench.workspace.program.run(words)
      #expect(next.exitCode == 0, "after \(title) at \(place): \(next)")
      try bench.expectReturned("after \(title) at \(place)")
    }
    if !strike.isFailure { #expect(struck > 0, "\(title): \(places)") }
    FaultSelection.progress("\(title): \(struck) kills at \(places.count) of \(calls) calls")
    try bench.end(recorder)
    try bench.workspace.json("gc", "--yes")
    try bench.expectSound()
  }

  @Test(
    "The machine with the lock, killed at any call while another one takes files, loses nothing and doubles nothing",
    arguments: [PreloadShim.Strike.kill, .tear])
  func recorder(strike: PreloadShim.Strike) throws {
    let bench = try StruckBench()
    let title = "The machine with the lock, \(strike.rawValue)"
    let second = try bench.joined.startJoined()
    try bench.put()
    let (calls, writes) = try bench.count(["watch"]) { watch in
      try watch.wait(for: "what was put") { try bench.isTaken() }
      watch.signal(SIGTERM)
    }
    let places = bench.places(strike == .tear ? writes : Array(1...calls), for: title)
    var struck = 0
    for place in places {
      try bench.put()
      let clean = bench.workspace.program.environment
      bench.workspace.program.environment.merge(bench.shim.striking(strike, at: place)) { $1 }
      let watch = try bench.workspace.program.start(["watch", "--json"])
      bench.workspace.program.environment = clean
      try bench.joined.shared.wait(for: "the end of the process, or of its work") {
        try !watch.isRunning || bench.isTaken()
      }
      // It may be struck while it ends.
      watch.signal(SIGTERM)
      let outcome = try watch.wait(within: 30)
      #expect(
        outcome.signal == SIGKILL || outcome.exitCode == 143, "\(title) at \(place): \(outcome)")
      if outcome.signal == SIGKILL { struck += 1 }
      let next = try bench.joined.startWatch()
      // The former one, which nobody has missed yet, may have been seen in its place.
      try next.wait(for: "its own place") {
        try bench.joined.shared.count("participant WHERE process = \(next.process) AND taker") == 1
      }
      try bench.expectTaken("after \(title) at \(place)")
      try bench.joined.end(next)
    }
    #expect(struck > 0, "\(title): \(places)")
    FaultSelection.progress("\(title): \(struck) kills at \(places.count) of \(calls) calls")
    try bench.joined.end(second)
    try bench.expectSound()
  }
}

/// Two machines, of which one process is struck again and again.
private final class StruckBench {
  let joined: JoinedBench
  let shim: PreloadShim
  var workspace: Workspace { joined.workspace }
  private let folder: TemporaryFolder
  /// How many times files were put.
  private var rounds: Int64 = 0

  init() throws {
    joined = try JoinedBench()
    folder = try TemporaryFolder()
    shim = try PreloadShim(in: folder.path, countsSends: true)
    try joined.workspace.makeFolder(joined.workspace.root.appending("kept"))
  }

  /// Puts two files and the content of one of them once more into the second machine's folder, and one into that of the first.
  func put() throws {
    rounds += 1
    for (name, text) in [("a", "first"), ("b", "second"), ("c", "first")] {
      try joined.put(["\(name)-\(rounds).txt"], text: "the \(text) of \(rounds)")
    }
    try workspace.put("the third of \(rounds)", as: BytePath("d-\(rounds).txt"))
  }

  /// Imports two files from the second machine's folder.
  func putForReturn() throws {
    rounds += 1
    for name in ["a", "b"] {
      try joined.put(["\(name)-\(rounds).txt"], text: "\(name) of \(rounds)")
    }
    #expect(try joined.run().summary["imported"] == 2)
    #expect(try workspace.files(below: "from-second") == [])
  }

  /// Expects those two files in their places, alone, and their assets gone; removes the files.
  func expectReturned(
    _ comment: Comment? = nil, at location: SourceLocation = #_sourceLocation
  ) throws {
    // A run takes none of them.
    try joined.run(at: location)
    for name in ["a", "b"] {
      #expect(
        try workspace.read(BytePath("from-second/\(name)-\(rounds).txt"))
          == Array("\(name) of \(rounds)".utf8), comment, sourceLocation: location)
    }
    #expect(
      try workspace.files(below: "from-second").count == 2, comment, sourceLocation: location)
    #expect(try joined.shared.count("asset") == 0, comment, sourceLocation: location)
    for name in ["a", "b"] {
      let file = BytePath("\(name)-\(rounds).txt")
      try workspace.put(
        "\(name) of \(rounds)", as: file, in: workspace.root.appending("kept"))
      try workspace.remove(BytePath("from-second").appending(file))
    }
  }

  /// Runs without a strike.
  ///
  /// - Parameter whileItRuns: what else is done; by default it ends by itself.
  /// - Returns: how many calls it makes, and those that write or send.
  func count(
    _ words: [BytePath], _ whileItRuns: (BuiltProgramRun) throws -> Void = { _ in }
  ) throws -> (calls: Int, writes: [Int]) {
    let file = folder.appending("count")
    let clean = workspace.program.environment
    workspace.program.environment.merge(shim.counting(into: file)) { $1 }
    let run = try workspace.program.start(words)
    workspace.program.environment = clean
    try whileItRuns(run)
    let outcome = try run.wait(within: 60)
    #expect([0, 143].contains(outcome.exitCode), "\(outcome)")
    let calls = try #require(Int(String(decoding: try workspace.read(file), as: UTF8.self)))
    let kinds = try workspace.read(BytePath(bytes: file.bytes + Array(".kinds".utf8)))
    let writes = kinds.enumerated().filter { $0.element == UInt8(ascii: "w") }.map { $0.offset + 1 }
    try #require(calls > 50 && writes.count > 20)
    return (calls, writes)
  }

  func run(
    _ words: [BytePath], _ strike: PreloadShim.Strike, at place: Int
  ) throws -> BuiltProgramOutcome {
    let clean = workspace.program.environment
    defer { workspace.program.environment = clean }
    workspace.program.environment.merge(shim.striking(strike, at: place)) { $1 }
    return try workspace.program.run(words)
  }

  /// In random order, so that a strike does not always find what the one at the call before has left.
  func places(_ all: [Int], for purpose: String) -> [Int] {
    var random = SeededRandom(for: purpose)
    return Array(all.shuffled(using: &random).prefix(FaultSelection.isFull ? 80 : 4))
  }

  /// Whether all that was put is recorded and done, and no file is left.
  func isTaken() throws -> Bool {
    try joined.shared.count("asset") == 3 * rounds
      && joined.shared.count("ledger WHERE state <> 'done'") == 0
      && workspace.files(below: "from-second").isEmpty && workspace.files(below: "inbox").isEmpty
  }

  /// Ends the process with the lock once it has missed those that were killed.
  func end(_ recorder: BuiltProgramRun) throws {
    try joined.shared.wait(for: "nobody but the one with the lock") {
      try joined.shared.count("participant WHERE state IN ('active', 'draining')") == 1
    }
    try joined.end(recorder)
  }

  /// What must be true at the end, when nobody works any more.
  func expectSound() throws {
    // Requests of a process that was killed stay until the next one with the lock drops them.
    try workspace.json("run")
    try joined.expectSound()
  }

  /// Waits until that is so, and compares what is recorded.
  func expectTaken(
    _ comment: Comment? = nil, at location: SourceLocation = #_sourceLocation
  ) throws {
    try joined.shared.wait(for: "\(comment?.rawValue ?? ""): what was put", location) {
      try isTaken()
    }
    for (state, count) in [("imported", 3 * rounds), ("duplicate", rounds)] {
      #expect(
        try joined.shared.count("sightings WHERE state = '\(state)'") == count, comment,
        sourceLocation: location)
    }
  }
}
