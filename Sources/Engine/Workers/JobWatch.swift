import Files
import PipelineModel
import PipelinePlugin

/// Looks every now and then at what a worker uses, and says when that is too much.
struct JobWatch {
  /// How often it looks, in seconds.
  static let interval = 0.05

  private let limits: WorkerLimits
  private let process: Int32
  private let folder: WorkerFolder
  private let start = ContinuousClock().now
  private let processorStart: Double
  private var looks = 0

  /// Begins with a job.
  init(_ limits: WorkerLimits, process: Int32, folder: WorkerFolder) {
    self.limits = limits
    self.process = process
    self.folder = folder
    // A worker serves many jobs; only this one's share counts.
    processorStart =
      limits.processes > 1
      ? ProcessUsage.of(group: process).processorSeconds
      : ProcessUsage.of(process: process)?.processorSeconds ?? 0
  }

  /// Why a job has to end.
  struct Verdict {
    let failure: PluginFailure
    /// Whether it is not asked first: what it takes too much of, others may lack meanwhile.
    var isUrgent = false
  }

  /// Says why the job has to end, or `nil`.
  mutating func verdict() -> Verdict? {
    looks += 1
    if let time = limits.time, ContinuousClock().now - start > time.duration {
      return Verdict(
        failure: PluginFailure(.transient, "It was ended: it may take \(time) at most."))
    }
    // What a job costs that has to be searched for is looked at less often.
    let isThorough = looks % 4 == 0
    if limits.processes > 1, !isThorough { return nil }
    if let verdict = verdictOnProcesses() { return verdict }
    return isThorough ? verdictOnFiles().map { Verdict(failure: $0) } : nil
  }

  private func verdictOnProcesses() -> Verdict? {
    let found =
      limits.processes > 1
      ? ProcessUsage.of(group: process) : ProcessUsage.of(process: process)
    // That it is gone is told by others.
    guard let usage = found else { return nil }
    if let failure = limits.verdict(on: usage) { return Verdict(failure: failure, isUrgent: true) }
    guard let cpu = limits.cpu, usage.processorSeconds - processorStart > cpu.seconds else {
      return nil
    }
    return Verdict(
      failure: PluginFailure(
        .permanent, "It was ended: it may use a processor for \(cpu) at most."))
  }

  private func verdictOnFiles() -> PluginFailure? {
    do throws(FileError) {
      return try limits.verdict(on: folder)
    } catch {
      // A folder that changes while it is read is looked at again the next time.
      return nil
    }
  }
}

extension WorkerLimits {
  /// Says why what a worker's processes take at this moment is too much, or `nil`.
  func verdict(on usage: ProcessUsage) -> PluginFailure? {
    if usage.memoryBytes > memory.bytes {
      return PluginFailure(
        .permanent,
        "It was ended: it used \(ByteSize(bytes: usage.memoryBytes)) of memory, and may use "
          + "\(memory) at most.")
    }
    if usage.processes > processes {
      return PluginFailure(
        .permanent,
        "It was ended: it ran \(usage.processes) processes, and may run \(processes) at most.")
    }
    if usage.threads > threads {
      return PluginFailure(
        .permanent,
        "It was ended: it ran \(usage.threads) threads, and may run \(threads) at most.")
    }
    return nil
  }

  /// Says why what is in a worker's folder is too much, or `nil`.
  func verdict(on folder: WorkerFolder) throws(FileError) -> PluginFailure? {
    let usage = try folder.usage(mostFiles: files)
    if usage.files > files {
      return PluginFailure(.permanent, "It was ended: it may make \(files) files at most.")
    }
    if usage.bytes > outputBytes.bytes {
      return PluginFailure(
        .permanent, "It was ended: the files that it made have more than \(outputBytes).")
    }
    return nil
  }
}
