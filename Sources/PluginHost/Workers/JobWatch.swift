import Configuration
import Files
import PipelineModel
import PipelinePlugin

/// Says when what a worker uses for a job is too much.
struct JobWatch {
  /// How often processes are looked at, in seconds.
  static let interval = 1 / Double(looksEachSecond)
  static let looksEachSecond = 50
  /// How often files are looked at, in seconds.
  static let filesInterval = 0.2

  private let limits: WorkerLimits
  private let start = ContinuousClock().now
  private let processorStart: Double

  /// Begins with a job.
  ///
  /// - Parameter processorSeconds: what the worker has used before: it serves many jobs, and only
  ///   this one's share counts.
  init(_ limits: WorkerLimits, processorSeconds: Double) {
    self.limits = limits
    processorStart = processorSeconds
  }

  /// Why a job has to end.
  struct Verdict {
    let failure: PluginFailure
    /// Whether it is not asked first: what it takes too much of, others may lack meanwhile.
    var isUrgent = false
  }

  /// Says why the job has to end, or `nil`.
  ///
  /// - Parameter usage: what the worker's processes use; `nil` where there are none any more.
  func verdict(on usage: ProcessUsage?) -> Verdict? {
    // That it is gone is told by others.
    if let failure = usage.flatMap(limits.verdict) {
      return Verdict(failure: failure, isUrgent: true)
    }
    if let time = limits.time, ContinuousClock().now - start > time.duration {
      return Verdict(
        failure: PluginFailure(
          .transient, "It was ended: it may take \(time) at most." + StageLimits.remedy(.time)))
    }
    guard let cpu = limits.cpu, let usage, usage.processorSeconds - processorStart > cpu.seconds
    else { return nil }
    return Verdict(
      failure: PluginFailure(
        .permanent,
        "It was ended: it may use a processor for \(cpu) at most." + StageLimits.remedy(.cpu)))
  }
}

extension WorkerLimits {
  /// Says why what a worker's processes take at this moment is too much, or `nil`.
  func verdict(on usage: ProcessUsage) -> PluginFailure? {
    if usage.hidesMemory {
      return PluginFailure(
        .permanent, "It was ended: the kernel does not tell how much memory it uses.")
    }
    if usage.memoryBytes > memory.bytes {
      return PluginFailure(
        .permanent,
        "It was ended: it used \(ByteSize(bytes: usage.memoryBytes)) of memory, and may use "
          + "\(memory) at most." + StageLimits.remedy(.memory))
    }
    if usage.processes > processes {
      return PluginFailure(
        .permanent,
        "It was ended: it ran \(usage.processes) processes, and may run \(processes) at most."
          + StageLimits.remedy(.processes))
    }
    if usage.threads > threads {
      return PluginFailure(
        .permanent,
        "It was ended: it ran \(usage.threads) threads, and may run \(threads) at most, 512 more "
          + "than processes." + StageLimits.remedy(.processes))
    }
    return nil
  }

  /// Says why what a worker has made is too much, or `nil`.
  ///
  /// - Parameter namelessBytes: those of files that have no name any more, and are still open.
  func verdict(
    on folder: WorkerFolder, namelessBytes: Int = 0
  ) throws(FileError) -> PluginFailure? {
    let usage = try folder.usage(mostFiles: files)
    if usage.files > files {
      return PluginFailure(
        .permanent,
        "It was ended: it may make \(files) files at most." + StageLimits.remedy(.files))
    }
    if usage.bytes + namelessBytes > outputBytes.bytes {
      return PluginFailure(
        .permanent,
        "It was ended: the files that it made have more than \(outputBytes)."
          + StageLimits.remedy(.outputBytes))
    }
    return nil
  }
}
