import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// Starts and ends an instance's worker.
extension WorkerInstance {
  /// Returns the instance's worker; starts one if there is none.
  func readyWorker() throws(PluginFailure) -> WorkerProcess {
    if let worker = state.withLock({ $0.worker }) { return worker }
    if state.withLock({ $0.isClosed }) {
      throw PluginFailure(.transient, "The program was asked to end.")
    }
    do throws(FileError) {
      let known = state.withLock { $0.folder }
      let folder =
        if let known { known } else { try WorkerFolder(Self.newName(), in: context.work) }
      state.withLock { $0.folder = folder }
      let group = try WorkerControlGroups.shared.make(limits)
      let number = state.withLock { state in
        state.number += 1
        return state.number
      }
      let worker: WorkerProcess
      do throws(FileError) {
        worker = try program.start(
          in: folder, limits: limits, group: group, queue: queue
        ) { [weak self] in self?.handle($0, of: number) }
      } catch {
        if let group { WorkerControlGroups.shared.remove(group) }
        throw error
      }
      worker.begin()
      do throws(FileError) {
        try folder.record(worker.id)
      } catch {
        // The end of this worker must not be taken for that of the next one.
        state.withLock { $0.number += 1 }
        worker.signal(SIGKILL)
        throw error
      }
      state.withLock { state in
        state.worker = worker
        state.jobsDone = 0
        state.failure = nil
        state.lastLog = ""
        state.killAt = nil
        state.outputClosedAt = nil
      }
      expect(.manifest)
      expect(.created)
      worker.send(.hello(protocol: HostMessage.currentProtocol, program: "pipeline"))
      worker.send(.create(options: options))
      monitorClosely()
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

  /// Ends an idle worker; the next job starts another.
  func retire() {
    let worker = state.withLock { state in
      state.isLeaving = state.worker != nil
      return state.worker
    }
    worker?.signal(SIGKILL)
  }

  /// Ends a worker that gave no valid answer to a question; a job queued behind it is not to blame.
  func retireOverQuestion() {
    state.withLock { $0.isJobInnocent = true }
    retire()
  }

  /// Gives a worker time to end by itself, then kills it.
  func endSoon() {
    state.withLock { state in
      state.killAt = ContinuousClock().now + .seconds(policy.grace)
      timer.start(every: JobMonitor.interval)
    }
  }

  func removeFolder() {
    let folder = state.withLock { state in
      defer { state.folder = nil }
      return state.folder
    }
    // Clean-up: leftovers are removed at the next start.
    try? folder?.remove()
  }
}
