import Configuration
import Dispatch
import Files
import Glibc
package import PipelineModel
package import PipelinePlugin
import Sandbox
import Synchronization

/// A plugin, library or program, that runs in sandboxed processes of its own.
package final class WorkerBackend: PluginBackend {
  package let manifest: PluginManifest
  private let program: WorkerProgram
  /// Whether a worker can't write to what it may read, so that originals need not be copied.
  let isReadOnlyEnforced: Bool

  /// Reads the manifest from a worker; waits for the answer.
  ///
  /// - Throws: `PluginFailure` of class `environment` if the plugin does not suit this machine, and
  ///   `permanent` if it is not a valid plugin.
  package convenience init(_ program: WorkerProgram) throws(PluginFailure) {
    self.init(program, manifest: try ManifestQuery(program).manifest())
  }

  /// Creates a backend for a known manifest.
  package init(_ program: WorkerProgram, manifest: PluginManifest) {
    self.program = program
    self.manifest = manifest
    let support = SandboxSupport.probe()
    // Without Landlock, root can write to files whose permissions forbid it.
    isReadOnlyEnforced = support.landlockABI > 0 || support.seccomp && geteuid() != 0
  }

  package func makeInstance(
    options: JSONValue, context: InstanceContext
  ) throws(PluginFailure) -> any PluginInstance {
    WorkerInstance(self, program: program, options: options, context: context)
  }
}

/// A pending request for a plugin's manifest.
///
/// Creating it sends the request; `manifest` waits for the answer, so that many plugins can be
/// asked concurrently.
package final class ManifestQuery: Sendable {
  private typealias Answer = Result<PluginManifest, PluginFailure>

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
      let worker = try program.start(in: nil, limits: limits, isGrouped: true, queue: queue) {
        [self] in handle($0)
      }
      state.withLock { $0.worker = worker }
      // Not weak: the answer may never be read, and the worker is watched until there is one.
      timer.start(after: Watchdog.interval) { [self] in
        check(worker)
        return Watchdog.interval
      }
      worker.begin()
      worker.send(.hello(protocol: HostMessage.currentProtocol, program: "pipeline"))
    } catch {
      finish(.failure(PluginFailure(.environment, error.message)))
    }
  }

  /// Waits for the manifest.
  package func manifest() throws(PluginFailure) -> PluginManifest {
    // `check` gives up in time.
    isAnswered.wait()
    isAnswered.signal()
    guard let answer = state.withLock({ $0.answer }) else {
      throw failure(.environment, "was not asked.")
    }
    let manifest = try answer.get()
    guard let fault = ManifestCheck.fault(in: manifest) else { return manifest }
    throw failure(.permanent, "returned a manifest in which \(fault).")
  }

  /// - Parameter what: follows the plugin's name.
  private func failure(_ class: PluginFailure.Class, _ what: String) -> PluginFailure {
    PluginFailure(`class`, "The plugin \(program.name) \(what)")
  }

  private func handle(_ event: WorkerProcess.Event) {
    switch event {
    case .message(.manifest(HostMessage.currentProtocol, let manifest)):
      finish(.success(manifest))
    case .message(.manifest(let version, _)):
      giveUp(
        "speaks version \(version) of the protocol, this program version "
          + "\(HostMessage.currentProtocol).")
    case .message(.failed(let failure)):
      finish(.failure(failure.kept))
    case .message(.log(_, let line)), .log(let line):
      state.withLock { $0.lastLog = line }
    case .message(.progress), .message(.limit):
      break
    case .message:
      finish(.failure(failure(.permanent, "sent no manifest.")))
    case .malformed(let what):
      finish(.failure(failure(.permanent, "returned an answer \(what).")))
    case .closed:
      state.withLock { $0.closedAt = ContinuousClock().now }
    case .ended(let ending, _):
      let log = state.withLock { $0.lastLog }
      finish(.failure(program.failure(ending, isSetUp: false, outputBytes: nil, log: log)))
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

  private func giveUp(_ what: String) { finish(.failure(failure(.environment, what))) }

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
    timer.stop()
    if isFirst { isAnswered.signal() }
  }
}
