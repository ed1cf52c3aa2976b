import Configuration
import Files
import PipelineModel
import PipelinePlugin

/// Decides when a job exceeds a worker's limits.
struct JobMonitor {
  /// The sampling interval for processes, in seconds.
  static let interval = 1 / Double(checksEachSecond)
  static let checksEachSecond = 50
  /// The sampling interval for files, in seconds.
  static let filesInterval = 0.2

  private let limits: WorkerLimits
  private let start = ContinuousClock().now
  private let processorStart: Double

  /// Starts watching a job.
  ///
  /// - Parameter processorSeconds: the worker's processor time so far: it serves many jobs, and
  ///   only this one's share counts.
  init(_ limits: WorkerLimits, processorSeconds: Double) {
    self.limits = limits
    processorStart = processorSeconds
  }

  struct Verdict {
    let failure: PluginFailure
    /// Whether to skip the request to stop, because others may lack what the job overuses.
    var isUrgent = false
  }

  /// Returns why the job must end, or `nil`.
  ///
  /// - Parameter usage: what the worker's processes use; `nil` if none are left.
  func verdict(on usage: ProcessUsage?) -> Verdict? {
    // The worker's end is reported elsewhere.
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
  /// Returns which limit a worker's processes currently exceed, or `nil`.
  func verdict(on usage: ProcessUsage) -> PluginFailure? {
    if usage.hidesMemory {
      return PluginFailure(
        .permanent, "It was ended: the kernel does not report how much memory it uses.")
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

  /// Returns which limit a worker's files exceed, or `nil`.
  ///
  /// - Parameter unlinkedBytes: bytes of deleted files that are still open.
  func verdict(
    on folder: WorkerFolder, unlinkedBytes: Int = 0
  ) throws(FileError) -> PluginFailure? {
    let usage = try folder.usage(mostFiles: files)
    if usage.files > files {
      return PluginFailure(
        .permanent,
        "It was ended: it may make \(files) files at most." + StageLimits.remedy(.files))
    }
    if usage.bytes + unlinkedBytes > outputBytes.bytes {
      return PluginFailure(
        .permanent,
        "It was ended: the files that it made have more than \(outputBytes)."
          + StageLimits.remedy(.outputBytes))
    }
    return nil
  }
}
