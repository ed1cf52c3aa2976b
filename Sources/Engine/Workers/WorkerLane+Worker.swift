import Dispatch
import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// The worker of a lane: started when there is work, watched while it works, ended when it has to be.
extension WorkerLane {
  /// Starts a worker where there is none.
  func readyWorker() throws(PluginFailure) -> WorkerProcess {
    if let worker = state.withLock({ $0.worker }) { return worker }
    if state.withLock({ $0.isClosed }) {
      throw PluginFailure(.transient, "The program was asked to end.")
    }
    do throws(FileError) {
      let known = state.withLock { $0.folder }
      let folder = if let known { known } else { try WorkerFolder(Self.newName(), in: site.work) }
      state.withLock { $0.folder = folder }
      let group = try WorkerGroups.shared.make(limits)
      let number = state.withLock { state in
        state.number += 1
        return state.number
      }
      let worker: WorkerProcess
      do throws(FileError) {
        worker = try program.start(
          in: folder, limits: limits.ofProcess, mayFork: limits.processes > 1, group: group,
          queue: queue
        ) { [weak self] in self?.take($0, of: number) }
      } catch {
        if let group { WorkerGroups.shared.remove(group) }
        throw error
      }
      worker.begin()
      do throws(FileError) {
        try folder.record(worker.id)
      } catch {
        // Its end is told as well, and is not that of the next one.
        state.withLock { $0.number += 1 }
        worker.signal(SIGKILL)
        throw error
      }
      state.withLock { state in
        state.worker = worker
        state.jobsDone = 0
        state.failure = nil
        state.lastLog = ""
      }
      expect(.manifest)
      expect(.created)
      worker.send(.hello(protocol: HostMessage.currentProtocol, program: "pipeline"))
      worker.send(.create(options: options))
      watchClosely()
      return worker
    } catch {
      // No file is to blame for what the machine lacks.
      throw PluginFailure(.environment, "A worker can't be started: \(error.message)")
    }
  }

  func expect(_ answer: Expected) {
    state.withLock { state in
      if state.expected.isEmpty { state.expectedSince = ContinuousClock().now }
      state.expected.append(answer)
    }
  }

  /// Ends a worker that is idle; the next job starts another.
  func retire() {
    let worker = state.withLock { state in
      state.isLeaving = state.worker != nil
      return state.worker
    }
    worker?.signal(SIGKILL)
  }

  /// Ends a worker that has no good answer to a question; a job that waits behind it is not to blame.
  func retireOverQuestion() {
    state.withLock { $0.isJobInnocent = true }
    retire()
  }

  /// Asks all of a worker's processes to end, and ends them if they don't.
  func stop(_ worker: WorkerProcess) {
    worker.signal(SIGTERM)
    endSoon(worker)
  }

  func endSoon(_ worker: WorkerProcess) {
    queue.asyncAfter(deadline: .now() + care.grace) { worker.signal(SIGKILL) }
  }

  func removeFolder() {
    let folder = state.withLock { state in
      defer { state.folder = nil }
      return state.folder
    }
    // Clean-up: what is left is removed at the next start.
    try? folder?.remove()
  }

  // MARK: Looking

  /// Looks often from now on.
  func watchClosely() {
    state.withLock { $0.idleProcessorSeconds = nil }
    timer.start(every: JobWatch.interval)
  }

  func look() {
    let (worker, expected, since) = state.withLock { ($0.worker, $0.expected, $0.expectedSince) }
    guard let worker else { return timer.stop() }
    let time = ContinuousClock().now - since
    switch expected.first {
    case .result: lookAtJob(worker)
    case nil: lookAtIdle(worker, for: time)
    case .estimates:
      if time > .seconds(care.patience) || usage(of: worker).flatMap(limits.verdict) != nil {
        retireOverQuestion()
      }
    case .manifest, .created: lookAtSetUp(worker, for: time)
    }
  }

  private func lookAtSetUp(_ worker: WorkerProcess, for time: Duration) {
    let id = carrier.manifest.id
    if time > .seconds(care.patience) {
      let text = "The plugin \(id) gave no answer for \(care.patience) seconds."
      fail(PluginFailure(.environment, text))
    } else if let failure = usage(of: worker).flatMap(limits.verdict) {
      let text = "The plugin \(id) takes too much to be set up. \(failure.reason)"
      fail(PluginFailure(.environment, text))
    }
  }

  /// Ends an idle worker that is not idle, or has been for long.
  private func lookAtIdle(_ worker: WorkerProcess, for time: Duration) {
    let usage = usage(of: worker)
    let (folder, before) = state.withLock { state in
      defer { state.idleProcessorSeconds = usage?.processorSeconds }
      return (state.folder, state.idleProcessorSeconds)
    }
    // To tidy up after a job takes a moment; work that nobody asked for goes on.
    let worked = (usage?.processorSeconds ?? 0) - (before ?? usage?.processorSeconds ?? 0)
    let isTooMuch =
      worked > care.idleInterval / 4 || usage.flatMap(limits.verdict) != nil
      || hasMadeTooMuch(in: folder)
    if isTooMuch || time > .seconds(care.mostIdleTime) {
      retire()
    } else {
      // Seldom, the longer it lasts: an idle watch costs nothing that could be measured.
      let seconds = Double(time.components.seconds)
      timer.start(every: min(max(care.idleInterval, seconds), care.mostIdleInterval))
    }
  }

  private func hasMadeTooMuch(in folder: WorkerFolder?) -> Bool {
    do throws(FileError) {
      guard let folder else { return false }
      return try limits.verdict(on: folder) != nil
    } catch {
      // A folder that changes while it is read, with nothing to do.
      return true
    }
  }

  private func usage(of worker: WorkerProcess) -> ProcessUsage? {
    limits.processes > 1 ? ProcessUsage.of(group: worker.id) : ProcessUsage.of(process: worker.id)
  }

  func lookAtJob(_ worker: WorkerProcess) {
    beginWatch()
    let verdict = state.withLock { state -> JobWatch.Verdict? in
      guard state.job?.verdict == nil, let verdict = state.job?.watch?.verdict() else { return nil }
      state.job?.verdict = verdict.failure
      return verdict
    }
    guard let verdict else { return }
    if verdict.isUrgent { worker.signal(SIGKILL) } else { stop(worker) }
  }
}
