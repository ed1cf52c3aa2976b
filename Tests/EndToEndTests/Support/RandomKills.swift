import Fixtures
import Foundation
import Glibc
import PipelineModel
import Synchronization
import Testing

/// Kills the program after a random delay, lets the next run make it good, and asks the oracle.
final class RandomKills: Sendable {
  private struct Tally {
    var killed = 0
    var breaches = 0
  }

  private let tally = Mutex(Tally())
  /// How long an undisturbed run takes, in microseconds.
  private let duration: Int
  private let state: [String]

  init() throws {
    let (workspace, _) = try FaultScenario.move.makeWorkspace(inMemory: true)
    let start = ContinuousClock.now
    try workspace.json("run")
    duration = Int((ContinuousClock.now - start) / .microseconds(1))
    state = try workspace.state()
  }

  /// How many were killed before they ended, and how often the oracle was not content.
  var result: (killed: Int, breaches: Int) { tally.withLock { ($0.killed, $0.breaches) } }

  /// One library, killed once or several times in `run`, `import` or `watch`.
  func kill(number: Int) throws {
    var random = SeededRandom(for: "random kill \(number)")
    let (workspace, _) = try FaultScenario.move.makeWorkspace(inMemory: true)
    let verb: [BytePath] = [["run"], ["watch"], ["run"], ["import", "inbox"]][number % 4]
    let comment = Comment(rawValue: "random kill \(number) of \(verb[0])")
    for _ in 0..<Int.random(in: 1...2, using: &random) {
      let run = try workspace.program.start(verb)
      usleep(UInt32(Int.random(in: 0...duration * 5 / 4, using: &random)))
      run.signal(SIGKILL)
      if try run.wait(within: 60).signal == SIGKILL { tally.withLock { $0.killed += 1 } }
    }
    // Nothing is known of here; the matcher is asked about each issue, and so counts them.
    do {
      try withKnownIssue(isIntermittent: true) {
        try expectHealed(workspace, comment, isImport: verb[0] == "import")
      } matching: { [self] _ in
        self.tally.withLock { $0.breaches += 1 }
        return false
      }
    } catch {
      FaultSelection.progress("\(comment.rawValue): \(error)")
      tally.withLock { $0.breaches += 1 }
    }
  }

  private func expectHealed(
    _ workspace: Workspace, _ comment: Comment, isImport: Bool
  ) throws {
    let last = try workspace.run("run")
    try #require(last.exitCode == 0, "\(comment.rawValue): \(last.errors)")
    try workspace.expectSound(comment)
    // What was imported is a duplicate in its source, so paths end in other states.
    let now = try workspace.state()
    #expect(isImport || now == state, comment)
    #expect(now.count { $0.hasPrefix("asset") } == 4, comment)
  }
}
