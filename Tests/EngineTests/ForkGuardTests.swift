import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import PipelinePlugin
import Testing

@testable import PluginHost
@testable import Sandbox

@Suite("Workers are asked before they fork", .timeLimit(.minutes(1)))
struct ForkGuardTests {
  private func count(_ questions: ForkRequests) -> ForkCount {
    let limits = WorkerLimits(
      StageLimits(), allowance: StageAllowance(), memoryShare: ByteSize(bytes: 1 << 30))
    // One that is there, as its process is for a moment after its streams are closed.
    return ForkCount(getpid(), limits, questions)
  }

  @Test("One that ends without a word says nothing of the machine", arguments: [true, false])
  func early(hasQuestion: Bool) throws {
    var ends: (ForkRequests, workerEnd: Descriptor)? = try ForkRequests.make()
    let count = count(try #require(ends?.0))
    ends = nil
    #expect(!count.answer(hasQuestion: hasQuestion))
    #expect(count.descriptor == nil)
    #expect(!count.answer(hasQuestion: true))
  }

  @Test("One whose machine refuses it says so, and is not listened to")
  func refused() throws {
    let (questions, workerEnd) = try ForkRequests.make()
    let count = count(questions)
    try workerEnd.write([ForkRequests.refusal])
    #expect(count.answer(hasQuestion: true))
    #expect(count.descriptor == nil)
  }

  @Test("What may be created is counted again only when the last count is used up")
  func allowance() {
    var allowance = ForkAllowance(threads: 4, processes: 2)
    let start = ContinuousClock.Instant.now
    var usage = ProcessUsage()
    (usage.processes, usage.threads) = (1, 1)
    var answers = [
      allowance.allows(.process, at: start),
      allowance.allows(.process, besides: usage, at: start),
      allowance.allows(.process, at: start),
      allowance.allows(.thread, at: start),
    ]
    #expect(answers == [nil, true, nil, true])
    usage.processes = 2
    answers = [
      allowance.allows(.process, besides: usage, at: start),
      // Not counted, however often it asks.
      allowance.allows(.process, at: start + .milliseconds(9)),
      allowance.allows(.process, at: start + .milliseconds(11)),
    ]
    #expect(answers == [false, false, nil])
    let refusals = [allowance.consumeRefusals(), allowance.consumeRefusals()]
    #expect(refusals[0] == (false, true) && refusals[1] == (false, false))
  }

  @Test("Plugins that end at once leave no warning that limits can't be held")
  func noWarning() throws {
    let folder = try TemporaryFolder()
    let isRefused = ForkGuard.shared.isRefused
    for _ in 0..<20 {
      let program = WorkerProgram(
        .executable([folder.appending("nothing")]), host: BuiltProgram.path,
        allowance: StageAllowance())
      _ = try? ManifestQuery(program).manifest()
    }
    #expect(ForkGuard.shared.isRefused == isRefused)
    #expect(LimitEnforcement.forks == nil || isRefused || !SandboxSupport.probe().asksBeforeForking)
  }

  @Test("Without Landlock it is told what a plugin may reach")
  func landlock() {
    let missing = LimitEnforcement.files(SandboxSupport(landlockABI: 0, seccomp: true))
    #expect(missing?.contains("no Landlock: files outside of a job can't be kept") == true)
    #expect(LimitEnforcement.files(SandboxSupport(landlockABI: 1, seccomp: true)) == nil)
    let hiding = SandboxSupport(landlockABI: 0, seccomp: true, hidesOthers: true)
    #expect(
      (LimitEnforcement.files(hiding) == nil) == (geteuid() != 0)
        && LimitEnforcement.sight(hiding) == nil)
    let seeing = SandboxSupport(landlockABI: 7, seccomp: true)
    #expect(LimitEnforcement.sight(seeing)?.contains("whose path it guesses") == true)
  }

  @Test("That memory is hidden counts once it lasts")
  func hiddenMemory() {
    var memory = HiddenMemory()
    #expect(
      [true, true, false, true, true, true, true].map { memory.note(isHidden: $0) }
        == [false, false, false, false, false, true, true])
  }

  @Test("Memory that the kernel does not tell of breaks a limit")
  func hiddenMemoryIsTooMuch() {
    let limits = WorkerLimits(
      StageLimits(), allowance: StageAllowance(), memoryShare: ByteSize(bytes: 1 << 30))
    var usage = ProcessUsage()
    #expect(limits.verdict(on: usage) == nil)
    usage.hidesMemory = true
    #expect(limits.verdict(on: usage)?.class == .permanent)
  }
}
