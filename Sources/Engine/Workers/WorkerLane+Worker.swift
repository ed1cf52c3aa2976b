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
      let worker: WorkerProcess
      do throws(FileError) {
        worker = try program.start(
          in: folder, limits: limits.ofProcess, mayFork: limits.processes > 1, group: group,
          queue: queue
        ) { [weak self] in self?.take($0) }
      } catch {
        if let group { WorkerGroups.shared.remove(group) }
        throw error
      }
      worker.begin()
      do throws(FileError) {
        try folder.record(worker.id)
      } catch {
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
      timer.start()
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
    queue.asyncAfter(deadline: .now() + Self.grace) { worker.signal(SIGKILL) }
  }

  func removeFolder() {
    let folder = state.withLock { state in
      defer { state.folder = nil }
      return state.folder
    }
    // Clean-up: what is left is removed at the next start.
    try? folder?.remove()
  }

  // MARK: Time

  func look() {
    let (worker, expected, since) = state.withLock { ($0.worker, $0.expected, $0.expectedSince) }
    guard let worker else { return timer.stop() }
    switch expected.first {
    case nil: timer.stop()
    case .result: lookAtJob(worker)
    case .estimates:
      if ContinuousClock().now - since > patience { retireOverQuestion() }
    case .manifest, .created:
      guard ContinuousClock().now - since > patience else { return }
      fail(
        PluginFailure(
          .environment,
          "The plugin \(carrier.manifest.id) gave no answer for \(patience)."))
    }
  }

  func lookAtJob(_ worker: WorkerProcess) {
    beginWatch()
    let verdict = state.withLock { state -> PluginFailure? in
      guard state.job?.verdict == nil, let failure = state.job?.watch?.verdict() else { return nil }
      state.job?.verdict = failure
      return failure
    }
    if verdict != nil { stop(worker) }
  }
}
