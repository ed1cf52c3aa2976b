import PipelineModel
import Records
import Testing

@testable import Catalog
@testable import Engine

@Suite("Admission", .timeLimit(.minutes(1)))
struct JobQueueTests {
  private func waiting(
    _ token: Int64, memory: Int = 1, isSuspect: Bool = false
  ) throws -> JobQueue.Waiting {
    let digest = try #require(Digest(bytes: [UInt8](repeating: 1, count: 32)))
    let asset = try #require(AssetID(bytes: [UInt8](repeating: 1, count: 16)))
    return JobQueue.Waiting(
      job: ClaimedJob(
        token: AttemptToken(rawValue: token), stage: "s", asset: asset, name: "n", digest: digest,
        size: 1, fingerprint: Fingerprint(digest), isAssetScoped: false, facts: [:], attempt: 1,
        isSuspect: isSuspect),
      memory: memory)
  }

  private func tokens(_ admitted: [(stage: Int, waiting: JobQueue.Waiting)]) -> [Int64] {
    admitted.map(\.waiting.job.token.rawValue)
  }

  @Test("No stage has more jobs under way than it is wide, in the order in which they came")
  func widths() throws {
    var queue = JobQueue(widths: [2, 1], memoryBudget: 100)
    for token in 1...5 { queue.stages[0].waiting.append(try waiting(Int64(token))) }
    for token in 11...12 { queue.stages[1].waiting.append(try waiting(Int64(token))) }
    // Later stages first, so that what was begun is finished.
    #expect(tokens(queue.admit()) == [11, 1, 2])
    #expect(queue.admit().isEmpty)
    #expect(queue.active == 3 && queue.waiting == 4)
    queue.end(try waiting(1), stage: 0)
    #expect(tokens(queue.admit()) == [3])
    queue.end(try waiting(11), stage: 1)
    #expect(tokens(queue.admit()) == [12])
  }

  @Test("Four rounds of jobs wait, of short ones more, and a long one counts at once")
  func ahead() throws {
    var stage = JobQueue.Stage(width: 2)
    #expect(stage.mostWaiting == 8)
    stage.note(seconds: 0.02)
    #expect(stage.mostWaiting == 20)
    for _ in 0..<50 { stage.note(seconds: 0.0001) }
    #expect(stage.mostWaiting == 32)
    stage.note(seconds: 20)
    #expect(stage.mostWaiting == 8)
    stage.note(seconds: 0.0001)
    #expect(stage.mostWaiting == 8)
    // Wide stages have four rounds whatever they do.
    var wide = JobQueue.Stage(width: 16)
    wide.note(seconds: 0.0001)
    #expect(wide.mostWaiting == 64)
  }

  @Test("What waits too much because jobs became longer is given back, the last first")
  func surplus() throws {
    var queue = JobQueue(widths: [2], memoryBudget: 100)
    queue.stages[0].note(seconds: 0.001)
    queue.stages[0].waiting = try (1...32).map { try waiting($0) }
    #expect(queue.removeSurplus(stage: 0).isEmpty)
    queue.stages[0].note(seconds: 5)
    #expect(queue.removeSurplus(stage: 0).map(\.rawValue) == Array(9...32))
    #expect(queue.stages[0].waiting.map(\.job.token.rawValue) == Array(1...8))
    #expect(queue.removeSurplus(stage: 0).isEmpty)
  }

  @Test("Results may gather while three rounds of jobs wait, and half of those that should")
  func plenty() throws {
    var stage = JobQueue.Stage(width: 2)
    stage.waiting = try (1...5).map { try waiting($0) }
    #expect(!stage.hasPlenty)
    stage.waiting.append(try waiting(6))
    #expect(stage.hasPlenty)
    stage.note(seconds: 0.001)
    #expect(!stage.hasPlenty)
    stage.waiting = try (1...16).map { try waiting($0) }
    #expect(stage.hasPlenty)
  }

  @Test("Jobs under way never need more together than the budget")
  func budget() throws {
    var queue = JobQueue(widths: [9], memoryBudget: 100)
    for (token, memory) in [(1, 60), (2, 40), (3, 1)] {
      queue.stages[0].waiting.append(try waiting(Int64(token), memory: memory))
    }
    #expect(tokens(queue.admit()) == [1, 2])
    #expect(queue.memoryInUse == 100)
    queue.end(try waiting(1, memory: 60), stage: 0)
    #expect(tokens(queue.admit()) == [3])
    #expect(queue.memoryInUse == 41)
  }

  @Test("A job above the whole budget runs, but alone")
  func aboveBudget() throws {
    var queue = JobQueue(widths: [4, 4], memoryBudget: 100)
    queue.stages[0].waiting = [try waiting(1, memory: 10), try waiting(2, memory: 500)]
    #expect(tokens(queue.admit()) == [1])
    queue.stages[1].waiting = [try waiting(3, memory: 1)]
    queue.end(try waiting(1, memory: 10), stage: 0)
    queue.stages[1].waiting = []
    #expect(tokens(queue.admit()) == [2])
    queue.stages[1].waiting = [try waiting(3, memory: 1)]
    #expect(queue.admit().isEmpty)
    queue.end(try waiting(2, memory: 500), stage: 0)
    #expect(tokens(queue.admit()) == [3])
    #expect(queue.memoryInUse == 1)
  }

  @Test("A suspect runs alone, whatever room there is")
  func suspect() throws {
    var queue = JobQueue(widths: [4, 4], memoryBudget: 100)
    queue.stages[0].waiting = [try waiting(1), try waiting(2, isSuspect: true)]
    #expect(tokens(queue.admit()) == [1])
    queue.end(try waiting(1), stage: 0)
    #expect(tokens(queue.admit()) == [2])
    #expect(queue.isExclusive)
    queue.stages[0].waiting.append(try waiting(3))
    queue.stages[1].waiting.append(try waiting(4))
    #expect(queue.admit().isEmpty)
    queue.end(try waiting(2, isSuspect: true), stage: 0)
    #expect(tokens(queue.admit()) == [4, 3])
    #expect(!queue.isExclusive)
  }

  @Test("A stage that is held begins nothing, and after a stop none does")
  func heldAndStopped() throws {
    var queue = JobQueue(widths: [1, 1], memoryBudget: 100)
    queue.stages[0].waiting = [try waiting(1)]
    queue.stages[1].waiting = [try waiting(2)]
    queue.stages[1].isHeld = true
    #expect(tokens(queue.admit()) == [1])
    queue.end(try waiting(1), stage: 0)
    queue.stages[1].isHeld = false
    queue.isStopped = true
    #expect(queue.admit().isEmpty)
    #expect(queue.waiting == 1 && queue.active == 0)
  }

  @Test("Whatever comes and ends, widths and budget hold and nothing is left", arguments: 1...20)
  func random(seed: UInt64) throws {
    var state = seed
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    let widths = (0..<3).map { _ in 1 + next(4) }
    var queue = JobQueue(widths: widths, memoryBudget: 100)
    var running: [(stage: Int, waiting: JobQueue.Waiting)] = []
    var (begun, put) = (0, 0)
    for step in 0..<400 {
      if step < 300, next(2) == 0 {
        put += 1
        queue.stages[next(3)].waiting.append(
          try waiting(Int64(put), memory: 1 + next(150), isSuspect: next(20) == 0))
      } else if !running.isEmpty {
        let ended = running.remove(at: next(running.count))
        queue.end(ended.waiting, stage: ended.stage)
      }
      let admitted = queue.admit()
      begun += admitted.count
      running += admitted
      for stage in 0..<3 {
        #expect(running.filter { $0.stage == stage }.count <= widths[stage])
      }
      let memory = running.reduce(0) { $0 + $1.waiting.memory }
      #expect(memory == queue.memoryInUse)
      #expect(memory <= 100 || running.count == 1)
      #expect(running.count == 1 || !running.contains { $0.waiting.job.isSuspect })
    }
    while !running.isEmpty {
      let ended = running.removeFirst()
      queue.end(ended.waiting, stage: ended.stage)
      let admitted = queue.admit()
      begun += admitted.count
      running += admitted
    }
    #expect(begun == put && queue.waiting == 0 && queue.memoryInUse == 0)
  }
}
