import Configuration
import Dispatch
import Engine
import Files
import Hashing
import PipelineModel
import PipelinePlugin
import PluginHost
import PluginTesting
import Synchronization

/// Runs a bundled plugin in a worker, as stages do, on one file at a time.
final class PluginTrial {
  /// The result of a job and the bytes of its first rendition.
  struct Outcome {
    let result: PluginResult
    let rendition: [UInt8]
  }

  private let manifest: PluginManifest
  private let instance: any PluginInstance
  private let queue: DispatchQueue
  private let options: JSONValue
  private let work: CheckFolder
  private let id: String
  private var jobs = 0
  // Results must not depend on them.
  private let ids = AssetIDGenerator { 0 }

  /// The time limit of a job.
  private static let patience = TimeSpan(milliseconds: 60_000)

  /// Makes an instance of the plugin; the first job starts the worker.
  init(_ id: String, options: JSONValue, on site: DoctorSite) throws(PluginFailure) {
    self.id = id
    let program = WorkerProgram(.library(try site.finder.find(id)), secrets: site.secrets)
    let backend = try WorkerBackend(program)
    queue = DispatchQueue(label: "pipeline.doctor.\(id)")
    work = site.work
    manifest = backend.manifest
    self.options = options.fillingDefaults(manifest.options)
    instance = try backend.makeInstance(
      options: self.options,
      context: InstanceContext(
        queue: queue, limits: Self.limits, memoryShare: ByteSize(bytes: 1 << 30),
        work: site.work.path))
  }

  private static var limits: StageLimits {
    var limits = StageLimits()
    limits.time = patience
    return limits
  }

  /// Whether it says that a decoder of a name was left out of the build.
  func lacks(decoder name: String) -> Bool {
    manifest.runtime.split(separator: ", ").contains("without decoder \(name)")
  }

  /// Processes a file and waits for the result.
  func run(_ bytes: [UInt8], facts: JSONValue = [:]) throws(FileError) -> Outcome {
    jobs += 1
    let name = "\(id)-\(jobs)"
    let input = try work.write(bytes, as: BytePath("\(name).in"))
    let folder = try Descriptor.openFolder(work.path)
    try folder.makeFolder(BytePath("\(name).out"))
    let output = try Descriptor.openFolder(BytePath("\(name).out"), in: folder)
    let request = PluginRequest(
      job: name,
      asset: .init(
        id: ids.next(), name: "sample", digest: SHA256.digest(of: bytes),
        size: bytes.count),
      input: input.description,
      output: output.path.description, options: options,
      facts: [StagePlan.identifier: facts], deadline: Self.patience.seconds)
    let result = wait(for: request)
    guard case .done(_, let renditions) = result, let first = renditions.first else {
      return Outcome(result: result, rendition: [])
    }
    return Outcome(result: result, rendition: try output.readFile(BytePath(first.path)))
  }

  /// Ends the worker and waits until it is gone.
  func end() {
    let isGone = DispatchSemaphore(value: 0)
    instance.end { isGone.signal() }
    isGone.wait()
  }

  private func wait(for request: PluginRequest) -> PluginResult {
    let answer = Mutex<PluginResult?>(nil)
    let isAnswered = DispatchSemaphore(value: 0)
    let instance = instance
    queue.async {
      instance.process(request, job: JobControl()) { result in
        answer.withLock { $0 = result }
        isAnswered.signal()
      }
    }
    // The instance ends a job at its time limit, so an answer always comes.
    isAnswered.wait()
    return answer.withLock { $0 }
      ?? .failed(PluginFailure(.environment, "The plugin \(id) gave no answer."))
  }
}
