import Configuration
import Dispatch
import PipelineModel
import PipelinePlugin
import PluginHost
import Records
import Synchronization

/// Claims ready jobs, and queues those that their stages accept.
extension Engine {
  func claim() throws(EngineError) {
    for index in stages.indices {
      let surplus = state.withLock { $0.jobs.removeSurplus(stage: index) }
      if !surplus.isEmpty { try inLedger(try ledger.requeue(surplus)) }
      let room = state.withLock { state in
        let stage = state.jobs.stages[index]
        guard !state.jobs.isStopped, !stage.isExhausted, !stage.isHeld else { return 0 }
        let wanted = stage.mostWaiting
        let waiting = stage.waiting.count + stage.estimating
        return waiting <= wanted / 2 ? wanted - waiting : 0
      }
      if room > 0 { try claim(upTo: room, stage: index, suspects: false) }
    }
  }

  /// Claims one suspect when there is no other work.
  func claimSuspects() throws(EngineError) {
    guard state.withLock({ $0.activity == .looking && !$0.jobs.isStopped }) else { return }
    for index in stages.indices where !state.withLock({ $0.jobs.stages[index].isHeld }) {
      try claim(upTo: 1, stage: index, suspects: true)
      if state.withLock({ $0.jobs.waiting }) > 0 { return }
    }
  }

  private func claim(upTo limit: Int, stage index: Int, suspects: Bool) throws(EngineError) {
    let stage = stages[index]
    // Set before the claim, so that a concurrent `wake` is not lost.
    state.withLock { $0.jobs.stages[index].isExhausted = true }
    let claimed = try inLedger(
      try ledger.claim(stage: stage.plan.name, limit: limit, suspects: suspects))
    if claimed.count == limit {
      state.withLock { $0.jobs.stages[index].isExhausted = false }
    }
    guard !claimed.isEmpty else {
      // Jobs under way will show whether the stage can run.
      if state.withLock({ $0.isIdle(index) }) { try recordRelease(of: index) }
      return
    }
    if let reason = shortage() { return try hold(index, claimed, because: reason) }
    do throws(PluginFailure) {
      let active = state.withLock { $0.jobs.stages[index].active }
      try stage.prepare(active: active)
    } catch {
      return try hold(index, claimed, because: error.reason)
    }
    warmUpDependents(of: index, jobs: claimed.count)
    var unfinished: [ClaimedJob] = []
    for job in claimed {
      guard try isAccepted(job, stage: index) else { continue }
      if try !finishKept(job, stage: index) { unfinished.append(job) }
    }
    let accepted = unfinished
    guard !accepted.isEmpty else { return }
    state.withLock { $0.jobs.stages[index].estimating += accepted.count }
    stage.memory(facts: accepted.map(facts(of:))) { [self] bytes in
      // Ledger access belongs on the serial queue.
      serial.async { [self] in queue(Array(zip(accepted, bytes)), stage: index) }
    }
  }

  /// Prepares stages that depend on this one; otherwise their first job would wait for the plugin
  /// to load while processors idle.
  private func warmUpDependents(of index: Int, jobs: Int) {
    let name = stages[index].plan.name
    for dependent in stages where dependent.isUnused {
      guard dependent.plan.definition.needs.contains(name) else { continue }
      // `claim` reports a plugin that can't be created, once there is work for it.
      try? dependent.prepare(active: 0)
      dependent.warmUp(for: jobs)
    }
  }

  /// Whether the job has the stage's input, and the stage accepts its media type; if not, skips the
  /// job, or finishes it if only the machine lacks something that the job does not need.
  private func isAccepted(_ job: ClaimedJob, stage index: Int) throws(EngineError) -> Bool {
    let stage = stages[index]
    let input = stage.plan.configuration.input
    if job.input == nil, !input.isEmpty {
      let names = listed(input.map { quoted($0.description) })
      finish(
        job, stage: index,
        .skipped(
          reason: "It has no rendition \(names), which this stage works on.", class: .transient))
      return false
    }
    let text = facts(of: job)[StagePlan.identifier]?["mediaType"]?.string ?? ""
    if stage.plan.definition.accepts == nil { return true }
    if stage.plan.accepts(MediaType(rawValue: text)) { return true }
    let refusal = stage.plan.refusal(of: text)
    if case .skipped(_, .environment) = refusal, try finishKept(job, stage: index) { return false }
    finish(job, stage: index, refusal)
    return false
  }

  /// Queues jobs, or fails those that exceed a limit.
  private func queue(_ jobs: [(job: ClaimedJob, memory: Int)], stage index: Int) {
    let limits = JobLimits(limits: stages[index].plan.configuration.limits)
    var admitted: [JobQueue.Waiting] = []
    for (job, memory) in jobs {
      let identity = facts(of: job)[StagePlan.identifier]
      let size = job.input?.bytes ?? job.size
      if let refusal = limits.refusal(ofBytes: size, identity: identity, memory: memory) {
        finish(job, stage: index, .failed(refusal))
      } else {
        admitted.append(.init(job: job, memory: memory))
      }
    }
    let isLate = state.withLock { state in
      state.jobs.stages[index].estimating -= jobs.count
      if state.jobs.isStopped || state.jobs.stages[index].isHeld { return true }
      state.jobs.stages[index].waiting += admitted
      return false
    }
    if isLate { requeue(admitted.map(\.job.token)) }
    begin()
    // Wakes `drain` if there is no work left.
    schedulePass()
  }

  /// Returns jobs that have not started to the ready state.
  func requeue(_ tokens: [AttemptToken]) {
    // A ledger that is away takes seconds to say so.
    guard !tokens.isEmpty else { return }
    do throws(EngineError) {
      try inLedger(try ledger.requeue(tokens))
    } catch {
      // Nobody else does these jobs while this process is there, so the engine fails, unless it is stopping anyway.
      guard state.withLock({ $0.jobs.isStopped }) else { return fail(error) }
      report.warning(error.message)
    }
  }
}
