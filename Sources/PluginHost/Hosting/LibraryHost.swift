import Files
import Glibc
import PipelineModel
import PipelinePlugin

/// The inside of a worker process: serves one plugin library over the line protocol.
///
/// The library's functions run on the thread that calls `run`. Another thread reads, so that a job
/// can be cancelled while it runs, and ends the process as soon as the host is gone.
struct LibraryHost {
  private let answers: AnswerWriter
  private let inbox = HostInbox()

  /// Reserves standard output for the protocol; what the library prints goes to standard error.
  init() throws(FileError) {
    let name = BytePath("standard output")
    answers = AnswerWriter(try CurrentProcess.duplicate(STDOUT_FILENO, path: name))
    try CurrentProcess.replace(STDOUT_FILENO, by: STDERR_FILENO)
  }

  /// Serves a plugin until the host is gone.
  ///
  /// - Parameter refusal: why the library must not be loaded, as found before the sandbox was
  ///   entered.
  func run(library path: BytePath, refusal: PluginFailure?) throws(FileError) -> Never {
    let loaded = refusal.map { .failure($0) } ?? load(path)
    try inbox.read(from: Descriptor(takingOver: STDIN_FILENO, path: "standard input"))
    var instance: LibraryInstance?
    while true { serveNext(loaded, &instance) }
  }

  // Not inlined: values created in an endless loop are never released. Source:
  // github.com/swiftlang/swift/pull/86644.
  @inline(never)
  private func serveNext(
    _ loaded: Result<LibraryBackend, PluginFailure>, _ instance: inout LibraryInstance?
  ) {
    let message = inbox.next()
    switch loaded {
    case .failure(let failure): answers.write(.failed(failure))
    case .success(let backend): serve(message, backend, &instance)
    }
    inbox.isDone()
  }

  private func load(_ path: BytePath) -> Result<LibraryBackend, PluginFailure> {
    do throws(PluginFailure) {
      return .success(try LibraryBackend(checked: path))
    } catch {
      return .failure(error)
    }
  }

  private func serve(
    _ message: HostMessage, _ backend: LibraryBackend, _ instance: inout LibraryInstance?
  ) {
    switch message {
    case .hello:
      answers.write(.manifest(protocol: HostMessage.currentProtocol, backend.manifest))
    case .create(let options):
      do throws(PluginFailure) {
        instance = try backend.makeLibraryInstance(options: options)
        answers.write(.created)
      } catch {
        answers.write(.failed(error))
      }
    case .estimate(let facts):
      answers.write(.estimates(facts.map { instance?.estimate(facts: $0) }))
    case .process(let request):
      process(request, on: instance)
    case .cancel:
      // The reading thread has already cancelled the job.
      break
    case .unknown:
      answers.write(.unsupported)
    }
  }

  private func process(_ request: PluginRequest, on instance: LibraryInstance?) {
    guard let instance else {
      let failure = PluginFailure(.environment, "A job was sent before “create”.")
      return answers.write(.result(job: request.job, .failed(failure)))
    }
    let answers = answers
    let control = JobControl(
      log: { level, text in answers.write(.log(level, text)) },
      progress: { fraction in answers.write(.progress(fraction)) })
    inbox.begin(request.job, control)
    answers.write(.result(job: request.job, instance.answer(to: request, control)))
  }
}
