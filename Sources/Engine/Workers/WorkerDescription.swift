import Dispatch
import Files
import Glibc
import PipelineModel
package import PipelinePlugin
import Sandbox
import Synchronization

/// A question to a plugin in a worker: what it is.
///
/// It is asked when this is made and answered later, so that many plugins can be
/// asked side by side.
package final class WorkerDescription: Sendable {
  private enum Answer { case manifest(PluginManifest), failure(PluginFailure) }

  private struct State {
    var answer: Answer?
    var lastLog = ""
    var worker: WorkerProcess?
  }

  let program: WorkerProgram
  private let state = Mutex(State())
  private let isAnswered = DispatchSemaphore(value: 0)

  /// How long a plugin may take to be loaded, in seconds.
  private static let patience = 30.0

  /// Asks a plugin; returns at once.
  package init(_ program: WorkerProgram) {
    self.program = program
    let queue = DispatchQueue(label: "pipeline.describe")
    do throws(FileError) {
      let limits = ProcessLimits(dataBytes: 4 << 30, fileBytes: 0, openFiles: 1024)
      let worker = try program.start(
        in: nil, limits: limits, mayFork: false, group: nil, queue: queue
      ) { [self] in take($0) }
      state.withLock { $0.worker = worker }
      worker.begin()
      worker.send(.hello(protocol: HostMessage.currentProtocol, program: "pipeline"))
      // Nobody may ever ask for the answer: a plugin beside it may be the wrong one.
      queue.asyncAfter(deadline: .now() + Self.patience) { [self] in giveUp() }
    } catch {
      settle(.failure(PluginFailure(.environment, error.message)))
    }
  }

  /// Waits for the answer.
  package func manifest() throws(PluginFailure) -> PluginManifest {
    // Where the user may have no more threads, nothing else gives up.
    let end = ContinuousClock().now + .seconds(Self.patience)
    while state.withLock({ $0.answer == nil }), ContinuousClock().now < end {
      // In steps, because Dispatch ends a wait by the time of day, which may jump.
      _ = isAnswered.wait(timeout: .now() + .milliseconds(100))
    }
    // Changes nothing where there is an answer.
    giveUp()
    switch state.withLock({ $0.answer }) {
    case .manifest(let manifest): return try checked(manifest)
    case .failure(let failure): throw failure
    case nil: throw PluginFailure(.environment, "The plugin \(program.name) was not asked.")
    }
  }

  private func checked(_ manifest: PluginManifest) throws(PluginFailure) -> PluginManifest {
    guard let fault = ManifestCheck.fault(in: manifest) else { return manifest }
    throw PluginFailure(
      .permanent, "The plugin \(program.name) gave a manifest in which \(fault).")
  }

  private func take(_ event: WorkerProcess.Event) {
    switch event {
    case .message(.manifest(HostMessage.currentProtocol, let manifest)):
      settle(.manifest(manifest))
    case .message(.manifest(let version, _)):
      settle(
        .failure(
          PluginFailure(
            .environment,
            "The plugin \(program.name) speaks version \(version) of the protocol, this program "
              + "version \(HostMessage.currentProtocol).")))
    case .message(.failed(let failure)):
      settle(.failure(failure.kept))
    case .message(.log(_, let line)), .log(let line):
      state.withLock { $0.lastLog = line }
    case .message(.progress):
      break
    case .message:
      settle(.failure(PluginFailure(.permanent, "The plugin \(program.name) did not say hello.")))
    case .nonsense(let what):
      settle(
        .failure(PluginFailure(.permanent, "The plugin \(program.name) gave an answer \(what).")))
    case .ended(let ending):
      let log = state.withLock { $0.lastLog }
      settle(
        .failure(program.failure(ending, isSetUp: false, outputBytes: nil, log: log)))
    }
  }

  private func giveUp() {
    settle(
      .failure(
        PluginFailure(
          .environment, "The plugin \(program.name) did not say what it is in time.")))
  }

  /// Takes the first answer, and ends the worker.
  private func settle(_ answer: Answer) {
    let (isFirst, worker) = state.withLock { state in
      defer {
        if state.answer == nil { state.answer = answer }
        state.worker = nil
      }
      return (state.answer == nil, state.worker)
    }
    worker?.signal(SIGKILL)
    if isFirst { isAnswered.signal() }
  }
}
