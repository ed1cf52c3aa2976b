import Testing

@testable import Web

@Suite("Answers during an import")
struct ImportPacingTests {
  /// The processor time that a thread takes in a time in which it has always something to do, in seconds.
  ///
  /// - Parameter changes: whether the catalog changes meanwhile.
  private func used(_ pace: Pace, in time: Double, each: Double, _ changes: () -> Void) -> Double {
    var (now, used) = (0.0, 0.0)
    while now < time {
      changes()
      now += each
      used += each
      let delay = pace.delay(now: now, used: used)
      now += delay
    }
    return used
  }

  @Test("A thread that is always busy gets a tenth of a processor during an import")
  func busy() {
    for each in [0.00005, 0.001, 0.004] {
      let pacing = ImportPacing()
      let taken = used(pacing.questions, in: 100, each: each) { pacing.noteChange(now: 100) }
      #expect(taken > 0.09 * 100 && taken < 0.11 * 100 + Pace.burst, "\(each) \(taken)")
    }
  }

  @Test("Without an import nobody waits, and no clock is asked")
  func idle() {
    let pacing = ImportPacing()
    #expect(used(pacing.answers, in: 10, each: 0.001) {} >= 10)
    pacing.noteChange(now: 10)
    var asked = false
    func clock() -> Double {
      asked = true
      return 100
    }
    // It counts as over some seconds after its last change.
    #expect(pacing.answers.delay(now: 20, used: clock()) == 0)
    #expect(!asked)
  }

  @Test("What a page needs comes at once, and what a thread took before the import does not count")
  func page() {
    let pacing = ImportPacing()
    pacing.noteChange(now: 100)
    #expect(pacing.answers.delay(now: 100, used: 1_000) == 0)
    #expect(pacing.answers.delay(now: 100, used: 1_000 + Pace.burst) == 0)
    let delay = pacing.answers.delay(now: 100, used: 1_001)
    #expect(delay > 0 && delay < 1.001 * Pace.longest)
    #expect(pacing.waited == 0)
  }

  @Test("Whoever asks after a long question waits for a moment only")
  func longest() {
    let pacing = ImportPacing()
    pacing.noteChange(now: 100)
    #expect(pacing.questions.delay(now: 100, used: 0) == 0)
    let delay = pacing.questions.delay(now: 102, used: 2)
    #expect(abs(delay - Pace.longest) < 0.001)
    #expect(pacing.questions.delay(now: 102 + delay, used: 2) == 0)
  }
}
