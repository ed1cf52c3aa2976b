import Catalog
import PipelineModel

/// Who may run now: counts of ready and active jobs and of the memory they need.
///
/// A value under the scheduler's one lock; nothing here waits or calls out.
struct Admission {
  /// A job that was claimed and waits for a free lane and memory.
  struct Waiting: Sendable {
    var job: ClaimedJob
    /// The bytes that it will need.
    var memory: Int
  }

  struct Stage {
    let width: Int
    var waiting: [Waiting] = []
    /// How many claimed jobs there are whose need of memory is being asked for.
    var estimating = 0
    var active = 0
    /// Whether the ledger had nothing more when it was last asked.
    var isExhausted = false
    /// Whether an environment failure keeps the stage from running.
    var isHeld = false
  }

  let memoryBudget: Int
  var stages: [Stage]
  var memoryInUse = 0
  /// Whether a suspect runs, beside which nothing else may.
  var isExclusive = false
  /// Whether no more jobs may begin.
  var isStopped = false

  init(widths: [Int], memoryBudget: Int) {
    self.memoryBudget = memoryBudget
    stages = widths.map { Stage(width: $0) }
  }

  var active: Int { stages.reduce(0) { $0 + $1.active } }
  /// How many jobs are claimed and have not begun.
  var waiting: Int { stages.reduce(0) { $0 + $1.waiting.count + $1.estimating } }
  var estimating: Int { stages.reduce(0) { $0 + $1.estimating } }

  /// Takes all jobs that may begin now; later stages first, so that what was begun is finished.
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

  /// A suspect and a job above the whole budget run alone.
  private func mayBegin(_ next: Waiting) -> Bool {
    if active == 0 { return true }
    return !isExclusive && !next.job.isSuspect && memoryInUse + next.memory <= memoryBudget
  }

  /// Gives back what a job had.
  mutating func end(_ waiting: Waiting, stage: Int) {
    stages[stage].active -= 1
    memoryInUse -= waiting.memory
    if active == 0 { isExclusive = false }
  }
}
