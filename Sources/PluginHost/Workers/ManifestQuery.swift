import Dispatch
import Files
import Glibc
import PipelineModel
package import PipelinePlugin
import Sandbox
import Synchronization

/// A pending request for a plugin's manifest.
///
/// Creating it sends the request; `manifest` waits for the answer, so that many plugins can be
/// asked concurrently.
package final class ManifestQuery: Sendable {
  private enum Answer { case manifest(PluginManifest), failure(PluginFailure) }

  private struct State {
    var answer: Answer?
    var lastLog = ""
    var worker: WorkerProcess?
    /// When the worker closed its standard output, after which it can't answer.
    var closedAt: ContinuousClock.Instant?
  }

  let program: WorkerProgram
  private let limits: WorkerLimits
  private let start = ContinuousClock().now
  private let timer = WatchdogTimer(.processes)
  private let state = Mutex(State())
  private let isAnswered = DispatchSemaphore(value: 0)

  /// The most time for a plugin to load.
  private static let patience = Duration.seconds(30)
  /// The time that a worker may live after it closed its output.
  private static let closing = Duration.milliseconds(500)

  /// Sends the request; returns at once.
  package init(_ program: WorkerProgram) {
    self.program = program
    limits = WorkerLimits(ofHandshake: program.limits, allowance: program.allowance)
    let queue = DispatchQueue(label: "pipeline.describe")
    do throws(FileError) {
      let group = try WorkerControlGroups.shared.make(limits)
      let worker: WorkerProcess
      do throws(FileError) {
        worker = try program.start(in: nil, limits: limits, group: group, queue: queue) {
          [self] in handle($0)
        }
      } catch {
        if let group { WorkerControlGroups.shared.remove(group) }
        throw error
      }
      state.withLock { $0.worker = worker }
      // Not weak: the answer may never be read, and the worker is watched until there is one.
      timer.onTick { [self] in check(worker) }
      timer.start(every: JobMonitor.interval)
      worker.begin()
      worker.send(.hello(protocol: HostMessage.currentProtocol, program: "pipeline"))
    } catch {
      finish(.failure(PluginFailure(.environment, error.message)))
    }
  }

  /// Waits for the manifest.
  package func manifest() throws(PluginFailure) -> PluginManifest {
    // `look` gives up in time.
    isAnswered.wait()
    isAnswered.signal()
    switch state.withLock({ $0.answer }) {
    case .manifest(let manifest): return try checked(manifest)
    case .failure(let failure): throw failure
    case nil: throw PluginFailure(.environment, "The plugin \(program.name) was not asked.")
    }
  }

  private func checked(_ manifest: PluginManifest) throws(PluginFailure) -> PluginManifest {
    guard let fault = ManifestCheck.fault(in: manifest) else { return manifest }
    throw PluginFailure(
      .permanent, "The plugin \(program.name) returned a manifest in which \(fault).")
  }

  private func handle(_ event: WorkerProcess.Event) {
    switch event {
    case .message(.manifest(HostMessage.currentProtocol, let manifest)):
      finish(.manifest(manifest))
    case .message(.manifest(let version, _)):
      finish(
        .failure(
          PluginFailure(
            .environment,
            "The plugin \(program.name) speaks version \(version) of the protocol, this program "
              + "version \(HostMessage.currentProtocol).")))
    case .message(.failed(let failure)):
      finish(.failure(failure.kept))
    case .message(.log(_, let line)), .log(let line):
      state.withLock { $0.lastLog = line }
    case .message(.progress):
      break
    case .message:
      finish(.failure(PluginFailure(.permanent, "The plugin \(program.name) sent no manifest.")))
    case .malformed(let what):
      finish(
        .failure(
          PluginFailure(.permanent, "The plugin \(program.name) returned an answer \(what).")))
    case .closed:
      state.withLock { $0.closedAt = ContinuousClock().now }
    case .ended(let ending):
      let log = state.withLock { $0.lastLog }
      finish(
        .failure(program.failure(ending, isSetUp: false, outputBytes: nil, log: log)))
    }
  }

  /// Gives up on a plugin that takes too long, exceeds a limit or can no longer answer.
  private func check(_ worker: WorkerProcess) {
    let now = ContinuousClock().now
    // Refused attempts to fork are harmless here.
    if let failure = worker.usage(countsRefused: false).flatMap(limits.verdict) {
      return giveUp("exceeded a limit before it returned its manifest. \(failure.reason)")
    }
    if let closedAt = state.withLock({ $0.closedAt }), now - closedAt > Self.closing {
      return giveUp("closed its output without returning its manifest.")
    }
    if now - start > Self.patience { giveUp("did not return its manifest in time.") }
  }

  private func giveUp(_ what: String) {
    finish(.failure(PluginFailure(.environment, "The plugin \(program.name) \(what)")))
  }

  /// Keeps the first answer, and ends the worker.
  private func finish(_ answer: Answer) {
    let (isFirst, worker) = state.withLock { state in
      defer {
        if state.answer == nil { state.answer = answer }
        state.worker = nil
      }
      return (state.answer == nil, state.worker)
    }
    worker?.signal(SIGKILL)
    timer.end()
    if isFirst { isAnswered.signal() }
  }
}
