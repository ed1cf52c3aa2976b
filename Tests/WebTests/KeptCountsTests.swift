import Testing

@testable import Web

/// How long what was counted for metrics is shown.
@Suite("Kept counts", .timeLimit(.minutes(1)))
struct KeptCountsTests {
  private typealias Kept = KeptCounts<String, Int>
  private let start = ContinuousClock.now

  private func time(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

  /// Counts of version 1, which took so many seconds from the start on.
  private func kept(taking seconds: Double) -> Kept {
    var kept = Kept()
    kept.keep("one", of: 1, begun: start, now: time(seconds))
    return kept
  }

  private func shown(_ kept: inout Kept, _ version: Int, at seconds: Double) -> String? {
    kept.shown(at: version, now: time(seconds)).map { "\($0.counts) \($0.age / .seconds(1))" }
  }

  @Test("Nothing is shown before it was counted")
  func none() {
    var kept = Kept()
    #expect(shown(&kept, 1, at: 0) == nil)
    #expect(!kept.isDue(at: 1, now: time(0)))
  }

  @Test("As long as nothing changes, what was counted is true, however old", arguments: [0.001, 3])
  func unchanged(taken: Double) {
    var kept = kept(taking: taken)
    #expect(shown(&kept, 1, at: 100_000) == "one 0.0")
    #expect(!kept.isDue(at: 1, now: time(100_000)))
  }

  @Test("What is counted in a moment is counted after each change")
  func short() {
    var kept = kept(taking: 0.02)
    #expect(shown(&kept, 2, at: 0.02) == nil)
    #expect(!kept.isDue(at: 2, now: time(100)))
  }

  @Test("What takes long to count is shown with its age for a minute after it changed")
  func long() {
    var kept = kept(taking: 2)
    #expect(shown(&kept, 2, at: 5) == "one 5.0" && shown(&kept, 2, at: 60) == "one 60.0")
    #expect(shown(&kept, 2, at: 60.1) == nil)
    kept = self.kept(taking: 9)
    #expect(shown(&kept, 2, at: 90) == "one 90.0" && shown(&kept, 2, at: 90.1) == nil)
  }

  @Test("It is counted again while somebody asks, and takes a fifth of the time at most")
  func due() {
    var kept = kept(taking: 2)
    #expect(!kept.isDue(at: 2, now: time(30)))
    _ = shown(&kept, 2, at: 15)
    #expect(!kept.isDue(at: 2, now: time(9)) && kept.isDue(at: 2, now: time(10)))
    #expect(kept.isDue(at: 2, now: time(165)) && !kept.isDue(at: 2, now: time(166)))
    kept.keep("two", of: 2, begun: time(20), now: time(22))
    #expect(shown(&kept, 2, at: 40) == "two 0.0" && shown(&kept, 3, at: 41) == "two 21.0")
  }
}
