package import Configuration
import Dispatch
package import Files
import Glibc
package import PipelineModel
package import PipelinePlugin
package import PluginHost
import Synchronization

/// Makes one picture by the plugin of thumbnails, in a sandboxed worker like those of stages.
///
/// Limits are those of the first stage with that plugin, or the usual ones.
package struct PictureRenderer: Sendable {
  /// The plugin that makes pictures.
  package static let plugin = "thumbnail"

  /// What the worker made.
  package struct Rendered: Sendable {
    package var bytes: [UInt8]
    package var mediaType: String
    /// Pixels.
    package var width: Int
    /// Pixels.
    package var height: Int
    /// What is wrong with the data, as a sentence; `nil` for nothing.
    package var damage: String?
  }

  /// The plugin's library.
  package let library: BytePath
  private let program: WorkerProgram
  private let memoryShare: ByteSize
  private let budget: WorkerMemoryBudget

  /// Finds the plugin.
  ///
  /// - Parameter budget: the memory that all pictures of this process share.
  /// - Throws: `PluginFailure` of class `environment` if there is none that may be loaded.
  package init(
    _ configuration: PipelineConfiguration, sharing budget: WorkerMemoryBudget
  ) throws(PluginFailure) {
    library = try PluginFinder(configured: configuration.plugins).find(Self.plugin)
    let stage = configuration.stages.first { $0.plugin == Self.plugin && $0.command == nil }
    program = WorkerProgram(
      .library(library), limits: stage?.limits ?? StageLimits(),
      secrets: PluginSecrets(configuration))
    memoryShare = configuration.memoryShare
    self.budget = budget
  }

  /// Asks the plugin for its description of itself; starts a worker.
  package func manifest() throws(PluginFailure) -> PluginManifest {
    try ManifestQuery(program).manifest()
  }

  /// Makes a picture. Blocks the calling thread, which must not be one of Dispatch's.
  ///
  /// - Parameters:
  ///   - input: the absolute path of the file to decode.
  ///   - identity: the facts of `identify` about it, if known.
  ///   - manifest: the plugin's description of itself.
  ///   - options: the plugin's options, with one size.
  ///   - work: an empty folder to work in.
  /// - Throws: `PluginFailure`, `FileError`.
  package func render(
    _ input: BytePath, of subject: PluginRequest.Subject, identity: JSONValue?,
    manifest: PluginManifest, options: JSONValue, in work: Descriptor
  ) throws -> Rendered {
    let limits = program.limits
    let options = options.fillingDefaults(manifest.options)
    let queue = DispatchQueue(label: "pipeline.picture")
    let context = InstanceContext(
      queue: queue, limits: limits, memoryShare: memoryShare,
      budget: budget, work: work.path)
    let instance = try WorkerBackend(program, manifest: manifest)
      .makeInstance(options: options, context: context)
    defer { end(instance) }
    let facts = identity.map { [StagePlan.identifier: $0] } ?? [:]
    let memory = estimate(instance, facts) ?? 0
    if let refusal = JobLimits(limits: limits)
      .refusal(ofBytes: subject.size, identity: identity, memory: memory)
    {
      throw refusal
    }
    try work.makeFolder("out")
    let output = try Descriptor.openFolder("out", in: work, followsLinks: false)
    let paths = (input: try MessagePath(input), output: try MessagePath(output.path))
    let request = PluginRequest(
      job: "1", asset: subject, input: paths.input.text, output: paths.output.text,
      options: options, facts: facts,
      deadline: (limits.time ?? StageLimits.standardTime).seconds)
    let result = withExtendedLifetime(paths) {
      wait { done in
        queue.async { instance.process(request, job: JobControl(), completion: done) }
      }
    }
    switch result {
    case .failed(let failure): throw failure.kept
    case .skipped(let reason): throw PluginFailure(.permanent, reason)
    case .done(let facts, let made):
      guard let rendition = made.first, made.count == 1 else {
        throw PluginFailure(
          .permanent, "The plugin \(Self.plugin) made \(made.count) pictures instead of one.")
      }
      let collected = try CollectedRendition(
        rendition, from: output, mostInDatabase: StorageLimit.greatestInDatabase)
      if let refusal = JobLimits(limits: limits).refusal(of: [collected]) { throw refusal }
      guard let bytes = collected.bytes else {
        throw PluginFailure(
          .permanent, "The picture has \(ByteSize(bytes: collected.size)), too much to hand out.")
      }
      return Rendered(
        bytes: bytes, mediaType: rendition.mediaType, width: rendition.width,
        height: rendition.height, damage: facts["damage"]?.string)
    }
  }

  private func estimate(
    _ instance: any PluginInstance, _ facts: [String: JSONValue]
  ) -> Int? {
    guard !facts.isEmpty else { return nil }
    return wait { done in instance.estimate(facts: [facts], completion: done) }.first ?? nil
  }

  private func end(_ instance: any PluginInstance) {
    wait { done in instance.end { done(()) } }
  }

  /// Waits for an answer, which an instance always gives: it ends a job at its time limit.
  private func wait<Answer: Sendable>(_ ask: (@escaping @Sendable (Answer) -> Void) -> Void)
    -> Answer
  {
    let answer = Mutex<Answer?>(nil)
    let isAnswered = DispatchSemaphore(value: 0)
    ask { value in
      answer.withLock { $0 = value }
      isAnswered.signal()
    }
    while true {
      isAnswered.wait()
      if let value = answer.withLock({ $0 }) { return value }
    }
  }
}
