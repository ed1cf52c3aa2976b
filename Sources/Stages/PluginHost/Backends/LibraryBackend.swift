import Configuration
import Dispatch
package import PipelineModel
package import PipelinePlugin
import Synchronization

/// A plugin called in this process.
///
/// The library is never unloaded: its threads may still run, and text that it returned may still be
/// read.
package final class LibraryBackend: PluginBackend {
  package let manifest: PluginManifest
  private let table: PluginTable

  /// Loads a library and reads its plugin's manifest.
  ///
  /// Before any of its functions is called, the file must belong to the user or root and be
  /// writable by nobody else, and a library that contains Swift must come from this program's
  /// compiler.
  ///
  /// - Throws: `PluginFailure` of class `environment` if the library does not suit this machine,
  ///   and `permanent` if it is not a valid plugin.
  package convenience init(path: BytePath) throws(PluginFailure) {
    try PluginTrust.check(library: path)
    try self.init(checked: path)
  }

  /// Loads a library that has already passed `PluginTrust`.
  init(checked path: BytePath) throws(PluginFailure) {
    let library = try LoadedLibrary(path: path)
    try library.checkToolchain()
    table = try PluginTable(library)
    manifest = try table.manifest()
  }

  package func makeInstance(
    options: JSONValue, context: InstanceContext
  ) throws(PluginFailure) -> any PluginInstance {
    InProcessInstance(
      instance: try makeLibraryInstance(options: options),
      estimator: try makeLibraryInstance(options: options),
      limit: context.limits.time ?? StageLimits.standardTime)
  }

  func makeLibraryInstance(options: JSONValue) throws(PluginFailure) -> LibraryInstance {
    try LibraryInstance(table, plugin: manifest.id, options: options)
  }
}

/// A plugin called in this process: it can be cancelled but not killed.
final class InProcessInstance: PluginInstance {
  private let instance: LibraryInstance
  /// A second instance, which answers estimates while the first one works.
  private let estimator: Mutex<LibraryInstance>
  private let limit: TimeSpan?

  init(instance: LibraryInstance, estimator: LibraryInstance, limit: TimeSpan?) {
    self.instance = instance
    self.estimator = Mutex(estimator)
    self.limit = limit
  }

  func estimate(facts: [[String: JSONValue]], completion: @escaping @Sendable ([Int?]) -> Void) {
    completion(estimator.withLock { estimator in facts.map { estimator.estimate(facts: $0) } })
  }

  func process(
    _ request: PluginRequest, job: JobControl,
    completion: @escaping @Sendable (PluginResult) -> Void
  ) {
    let timeout = Timeout(limit, control: job)
    let result = withExtendedLifetime(timeout) { instance.answer(to: request, job) }
    if case .failed = result, let failure = timeout.failure {
      return completion(.failed(failure))
    }
    completion(result)
  }
}

/// Cancels a job when its time limit is exceeded, as long as it is referred to.
///
/// A library in this process can be asked to stop, but not killed.
final class Timeout: Sendable {
  private let limit: TimeSpan?
  /// Whether the time limit passed before the job ended.
  private let isOver = Atomic(false)

  init(_ limit: TimeSpan?, control: JobControl) {
    self.limit = limit
    guard let limit else { return }
    DispatchQueue.global(qos: .utility).asyncAfter(
      deadline: .now() + .milliseconds(limit.milliseconds)
    ) { [weak self, weak control] in
      guard let self else { return }
      isOver.store(true, ordering: .relaxed)
      control?.cancel()
    }
  }

  /// The failure to report if the job failed after its time limit passed.
  var failure: PluginFailure? {
    guard let limit, isOver.load(ordering: .relaxed) else { return nil }
    return PluginFailure(.transient, "It was given up: it may take \(limit) at most.", limit: .time)
  }
}

/// One plugin instance in this process, for one call at a time.
final class LibraryInstance: Sendable {
  private let table: PluginTable
  private let plugin: String
  private let instance: UInt

  init(_ table: PluginTable, plugin: String, options: JSONValue) throws(PluginFailure) {
    let text: String
    do {
      text = try JSONText.encode(options)
    } catch {
      throw PluginFailure(.environment, "The options of \(plugin) can't be encoded: \(error)")
    }
    self.table = table
    self.plugin = plugin
    instance = UInt(bitPattern: try table.create(text))
  }

  deinit {
    if let pointer = UnsafeMutableRawPointer(bitPattern: instance) { table.destroy(pointer) }
  }

  func estimate(facts: [String: JSONValue]) -> Int? {
    guard let pointer = UnsafeMutableRawPointer(bitPattern: instance),
      let text = try? JSONText.encode(facts)
    else { return nil }
    return table.estimate(pointer, text)
  }

  /// Runs a job and returns the plugin's checked answer.
  func answer(to request: PluginRequest, _ job: JobControl) -> PluginResult {
    guard let pointer = UnsafeMutableRawPointer(bitPattern: instance),
      let text = try? JSONText.encode(request)
    else { return .failed(PluginFailure(.environment, "The request can't be encoded.")) }
    // The caller retains it for the duration of this call.
    let control = Unmanaged.passUnretained(job).toOpaque()
    let answer = withExtendedLifetime(job) { table.process(pointer, text, job: control) }
    guard let answer else { return malformed("that is not UTF-8") }
    do throws(MessageError) {
      let result = try PluginResult(PluginMessage.value(of: answer.utf8))
      guard let fault = ResultCheck.fault(in: result) else { return result }
      return malformed("in which \(fault)")
    } catch {
      return malformed("that can't be decoded: \(quoted(answer)): \(error.message)")
    }
  }

  private func malformed(_ what: String) -> PluginResult {
    .failed(PluginFailure(.permanent, "The plugin \(plugin) returned an answer \(what)."))
  }
}
