import Configuration
import Dispatch
import Files
import Hashing
import Originals
import PipelineModel
import PipelinePlugin
import PluginHost
import Records
import Renditions
import Synchronization

/// Runs jobs on their stages' queues, from admission to the plugin's answer.
extension Engine {
  /// Starts every admissible job; called on any queue.
  func begin() {
    let admitted = state.withLock { state in
      state.hasRoom ? state.jobs.admit() : []
    }
    for (index, waiting) in admitted {
      stages[index].queue.async { [self] in run(waiting, stage: index) }
    }
  }

  /// The delay before a missing original is looked up a second time.
  private static let patience = DispatchTimeInterval.seconds(2)

  private func run(_ waiting: JobQueue.Waiting, stage index: Int, isSecondLook: Bool = false) {
    let stage = stages[index]
    let start = ContinuousClock().now
    let name = stage.plan.name
    let control = JobControl { [report] _, message in report.log(stage: name, message: message) }
    let running = RunningJob(
      stage: name, name: waiting.job.name, since: start,
      limit: stage.plan.configuration.limits.time ?? StageLimits.standardTime)
    // Before the input is prepared, which takes as long as a large file is copied.
    let isStopped = state.withLock { state in
      state.running[waiting.job.token] = (running, control)
      return state.jobs.isStopped
    }
    if isStopped { return end(waiting, stage: index, .givenUp) }
    guard let instance = stage.checkOut() else {
      let failure = PluginFailure(.environment, "No instance of the plugin is free.")
      return end(waiting, stage: index, .failed(failure))
    }
    var hasOriginal = false
    do throws(FileError) {
      let original = try waiting.job.input == nil ? originals.lease(waiting.job.digest) : nil
      hasOriginal = true
      let output = try work.make(for: waiting.job.token)
      let input: BytePath
      if let original {
        input = original.path
      } else {
        switch try self.input(of: waiting.job, isStopped: { control.isGivenUp }) {
        case .whole(let path): input = path
        case .unusable(let result):
          stage.checkIn(instance)
          return end(waiting, stage: index, result)
        }
      }
      var kept = try kept(by: waiting.job, stage: stage)
      let copies =
        try stage.plan.readsKept
        ? copies(of: &kept, for: waiting.job.token) { control.isGivenUp } : []
      if control.isGivenUp {
        stage.checkIn(instance)
        return end(waiting, stage: index, .givenUp)
      }
      let paths = (
        input: try MessagePath(input), output: try MessagePath(output.path),
        kept: try copies.map { copy throws(FileError) in try MessagePath(copy.path) }
      )
      var request = request(waiting.job, stage: stage, input: paths.input, output: paths.output)
      request.wanted = stage.plan.wanted(besides: kept)
      if !copies.isEmpty {
        request.kept = zip(copies, paths.kept).map { $0.record.told(at: $1) }
      }
      instance.process(request, job: control) { [self, kept] result in
        withExtendedLifetime((original, paths)) {}
        stage.checkIn(instance)
        var outcome = collect(result, from: output, stage: stage) { control.isGivenUp }
        if let kept { outcome = kept.completed(by: outcome, stage.plan.factsOfParts) }
        if case .failed = outcome, control.isGivenUp { outcome = .givenUp }
        end(waiting, stage: index, outcome, since: start)
      }
    } catch {
      stage.checkIn(instance)
      if error.code == .notFound, waiting.job.input == nil, !isSecondLook {
        // The original may be moving back to its folder or being repaired. The ledger will know
        // soon, or the file will be back.
        return stage.queue.asyncAfter(deadline: .now() + Self.patience) { [self] in
          run(waiting, stage: index, isSecondLook: true)
        }
      }
      // Retrying does not help if it is lost. Importing the file again does, and its jobs are then
      // retried.
      if error.code == .stopped { return end(waiting, stage: index, .givenUp) }
      if error.code == .unsupported, !hasOriginal {
        return end(waiting, stage: index, .noRoom(reason: error.message))
      }
      let failureClass: PluginFailure.Class =
        switch error.code {
        case .notFound, .notRegular: .permanent
        // The stage waits until the store of originals can be used.
        case .unavailable: .environment
        case .noSpace where ledger.isBesideOthers: .environment
        default: .transient
        }
      end(waiting, stage: index, .failed(PluginFailure(failureClass, error.message)))
    }
  }

  /// - Parameter start: when a job began that its plugin has answered; `nil` if the plugin was not
  ///   asked.
  private func end(
    _ waiting: JobQueue.Waiting, stage index: Int, _ result: FinishedJob.Result,
    since start: ContinuousClock.Instant? = nil
  ) {
    let took = start.map { (ContinuousClock().now - $0) / .seconds(1) }
    let mayGather = state.withLock { state in
      state.running[waiting.job.token] = nil
      state.jobs.end(waiting, stage: index)
      if let took { state.jobs.stages[index].note(seconds: took) }
      state.finished.append(
        FinishedJob(job: waiting.job, stage: index, result: result, seconds: took))
      return state.jobs.stages[index].hasPlenty && state.hasRoom
    }
    begin()
    schedulePass(gathering: mayGather)
  }

  private func request(
    _ job: ClaimedJob, stage: StageRunner, input: MessagePath, output: MessagePath
  ) -> PluginRequest {
    PluginRequest(
      job: "\(job.token.rawValue)",
      asset: .init(
        id: job.asset, name: job.name.description, digest: job.digest, size: job.size),
      input: input.text, output: output.text,
      options: stage.plan.options, facts: facts(of: job),
      rendition: job.input?.description(),
      deadline: (stage.plan.configuration.limits.time ?? StageLimits.standardTime).seconds)
  }

  /// Returns a job's facts, with those of the identifying stage also under the plugin's own name, so
  /// that plugins find them whatever the stage is called.
  ///
  /// Under that name, they describe the rendition that the job works on, if it does.
  func facts(of job: ClaimedJob) -> [String: JSONValue] {
    var facts = job.facts
    for stage in stages where stage.plan.configuration.plugin == StagePlan.identifier {
      if let found = facts[stage.plan.name] { facts[StagePlan.identifier] = found }
    }
    if let input = job.input {
      facts[StagePlan.identifier] = input.identity(facts[StagePlan.identifier])
    }
    return facts
  }

  private func kept(
    by job: ClaimedJob, stage: StageRunner
  ) throws(FileError) -> KeptParts? {
    do throws(CatalogError) {
      return try keptParts(of: job, stage: stage.plan)
    } catch {
      throw FileError(.ioError, error.message, path: job.name)
    }
  }

  private enum Input {
    /// A file with the input's bytes.
    case whole(BytePath)
    case unusable(FinishedJob.Result)
  }

  /// Copies the rendition that a job works on to a file of its own, and compares it with its hash.
  private func input(
    of job: ClaimedJob, isStopped: @escaping () -> Bool
  ) throws(FileError) -> Input {
    guard let input = job.input else { return .unusable(.givenUp) }
    let file = try work.makeInput(for: job.token)
    let copied = try copy(input, to: file, isStopped: isStopped)
    if copied == input.digest {
      // It is well again, so the next damage is another one.
      state.withLock { _ = $0.damagedInputs.remove(DamagedInput(job)) }
      return .whole(file.path)
    }
    if isStopped() { return .unusable(.givenUp) }
    let isNew = state.withLock { $0.damagedInputs.insert(DamagedInput(job)).inserted }
    if isNew { return .unusable(.inputDamaged) }
    return .unusable(
      .failed(
        PluginFailure(
          .transient,
          "The rendition \(quoted(input.reference.description)), which this stage works on, is "
            + "damaged or missing again after it was made anew.")))
  }

  /// - Returns: the digest of what was copied; `nil` if the bytes are missing or can't be read.
  private func copy(
    _ input: InputRendition, to file: Descriptor, isStopped: @escaping () -> Bool
  ) throws(FileError) -> Digest? {
    guard let path = input.path else {
      let bytes: [UInt8]?
      do throws(CatalogError) {
        bytes = try ledger.bytes(ofRendition: input.id)
      } catch {
        throw FileError(.ioError, error.message, path: file.path)
      }
      guard let bytes else { return nil }
      try file.write(bytes)
      return SHA256.digest(of: bytes)
    }
    return try copyRendition(at: path, input.digest, to: file, isStopped: isStopped)
  }

  /// - Parameter digest: of the rendition's bytes, as recorded.
  /// - Returns: the digest of what was copied; `nil` if it is missing or can't be read.
  func copyRendition(
    at path: String, _ digest: Digest, to file: Descriptor, isStopped: @escaping () -> Bool
  ) throws(FileError) -> Digest? {
    do throws(FileError) {
      return try file.fill(from: renditions.open(path, copyOf: digest), isStopped: isStopped)
    } catch let error
      where [.notFound, .notRegular, .link, .ioError].contains(error.code)
      || error.code == .stopped && isStopped()
    {
      return nil
    }
  }

  private func collect(
    _ result: PluginResult, from output: Descriptor, stage: StageRunner,
    isStopped: @escaping () -> Bool
  ) -> FinishedJob.Result {
    switch result {
    case .failed(let failure):
      return .failed(failure.kept)
    case .skipped(let reason):
      return .skipped(reason: PluginFailure.kept(reason))
    case .done(let facts, let made):
      do throws(FileError) {
        let most = mostInDatabase(stage.plan.configuration.storage)
        let collected = try made.map { rendition throws(FileError) in
          try CollectedRendition(
            rendition, from: output, mostInDatabase: most, isStopped: isStopped)
        }
        let limits = JobLimits(limits: stage.plan.configuration.limits)
        if let refusal = limits.refusal(of: collected) { return .failed(refusal) }
        return .done(facts: facts, renditions: collected, kept: [])
      } catch {
        return .failed(ResultCheck.failure(becauseOf: error))
      }
    }
  }
}

/// A job whose input was damaged.
struct DamagedInput: Hashable {
  private let stage: String
  private let digest: Digest
  private let asset: AssetID?

  init(_ job: ClaimedJob) {
    stage = job.stage
    digest = job.digest
    asset = job.isAssetScoped ? job.asset : nil
  }
}

extension InputRendition {
  /// What a plugin is told of it.
  fileprivate func description() -> PluginRequest.Rendition {
    PluginRequest.Rendition(
      stage: reference.stage, name: reference.name, mediaType: mediaType, width: width,
      height: height, digest: digest)
  }

  /// The facts of the identifying stage as if this were the original: upright, and one page.
  fileprivate func identity(_ original: JSONValue?) -> JSONValue {
    var facts = original?.object ?? [:]
    // About the decoding of the original.
    for name in ["decodeBytes", "bitDepth", "alpha", "iccProfile", "colorSpace", "problem"] {
      facts[name] = nil
    }
    facts.merge([
      "mediaType": .string(mediaType), "width": .integer(width), "height": .integer(height),
      "orientation": 1, "pages": 1,
    ]) { $1 }
    return .object(facts)
  }
}

/// A path as text, for messages to plugins.
///
/// If the path is not UTF-8, the text leads through an open descriptor of its folder, and is valid
/// in this process while this object lives. Source: proc(5).
struct MessagePath: Sendable {
  /// An absolute path of the same file.
  let text: String
  private let folder: Descriptor?

  /// - Parameter path: an absolute path whose last component the program chose itself.
  init(_ path: BytePath) throws(FileError) {
    if let text = path.utf8 {
      self.text = text
      folder = nil
    } else {
      let folder = try Descriptor.openFolder(path.parent)
      text = "/proc/self/fd/\(folder.number)/\(path.lastComponent)"
      self.folder = folder
    }
  }
}
