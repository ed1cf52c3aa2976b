import PipelineModel
import Records

/// A queue limited by each stage's width and by total memory.
///
/// A value under the engine's one lock; nothing here waits or calls out.
struct JobQueue {
  /// A claimed job that waits for a free instance and memory.
  struct Waiting: Sendable {
    var job: ClaimedJob
    /// The bytes that it will need.
    var memory: Int
  }

  struct Stage {
    let width: Int

    init(width: Int) { self.width = width }

    var waiting: [Waiting] = []
    /// The number of claimed jobs whose memory is being estimated.
    var estimating = 0
    var active = 0
    /// How long a job takes, in seconds, lately; 0 until one has ended.
    private var seconds = 0.0
    /// Whether the last claim found no more rows.
    var isExhausted = false
    /// Whether an environment failure keeps the stage from running.
    var isHeld = false

    /// How many jobs should wait, so that instances don't wait for the ledger: four rounds, and of short ones what begins
    /// within a fifth of a second, up to 32, because a claim of many costs hardly more than one of few. No more, because
    /// another machine could do them meanwhile, and a kill interrupts all of them.
    var mostWaiting: Int {
      let rounds = seconds > 0 ? Int(min(0.2 / seconds, 32)) : 0
      return max(width * 4, min(width * rounds, 32))
    }

    /// Whether enough jobs wait that a result may be recorded, and more be claimed, somewhat later.
    var hasPlenty: Bool { waiting.count >= max(width * 3, mostWaiting / 2) }

    /// Takes note of how long a job took. A long one counts at once, because more of them may follow.
    mutating func note(seconds latest: Double) {
      seconds = max(latest, seconds * 0.8 + latest * 0.2)
    }

    /// Whether no job is claimed or running.
    var isIdle: Bool { waiting.isEmpty && estimating == 0 && active == 0 }
  }

  let memoryBudget: Int
  var stages: [Stage]
  var memoryInUse = 0
  /// Whether a suspect runs, which excludes all other jobs.
  var isExclusive = false
  var isStopped = false

  init(widths: [Int], memoryBudget: Int) {
    self.memoryBudget = memoryBudget
    stages = widths.map { Stage(width: $0) }
  }

  var active: Int { stages.reduce(0) { $0 + $1.active } }
  /// The number of claimed jobs that have not started.
  var waiting: Int { stages.reduce(0) { $0 + $1.waiting.count + $1.estimating } }

  /// Lets the next pass claim from every stage again: rows may have become ready.
  mutating func forgetExhaustion() {
    for index in stages.indices { stages[index].isExhausted = false }
  }

  /// Removes a stage's waiting jobs beyond twice what should wait: they were claimed while jobs were shorter.
  mutating func removeSurplus(stage: Int) -> [AttemptToken] {
    let most = stages[stage].mostWaiting
    guard stages[stage].waiting.count > 2 * most else { return [] }
    defer { stages[stage].waiting.removeSubrange(most...) }
    return stages[stage].waiting[most...].map(\.job.token)
  }

  /// Removes a stage's waiting jobs.
  mutating func removeWaiting(stage: Int) -> [AttemptToken] {
    defer { stages[stage].waiting = [] }
    return stages[stage].waiting.map(\.job.token)
  }

  /// Removes all jobs that may start now; later stages first, to finish what was begun.
  mutating func admit() -> [(stage: Int, waiting: Waiting)] {
    var admitted: [(stage: Int, waiting: Waiting)] = []
    guard !isStopped else { return [] }
    for index in stages.indices.reversed() {
      while !stages[index].isHeld, stages[index].active < stages[index].width,
        let next = stages[index].waiting.first, mayBegin(next)
      {
        stages[index].waiting.removeFirst()
        stages[index].active += 1
        memoryInUse += next.memory
        isExclusive = next.job.isSuspect
        admitted.append((index, next))
      }
    }
    return admitted
  }

  /// Suspects, and jobs that exceed the whole budget, run alone.
  private func mayBegin(_ next: Waiting) -> Bool {
    if active == 0 { return true }
    return !isExclusive && !next.job.isSuspect && memoryInUse + next.memory <= memoryBudget
  }

  /// Releases a job's instance and memory.
  mutating func end(_ waiting: Waiting, stage: Int) {
    stages[stage].active -= 1
    memoryInUse -= waiting.memory
    if active == 0 { isExclusive = false }
  }
}
