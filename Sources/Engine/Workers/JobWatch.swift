import Files
import PipelineModel
import PipelinePlugin

/// Looks every now and then at what a worker uses, and says when that is too much.
struct JobWatch {
  /// How often it looks, in milliseconds.
  static let interval = 50

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

  /// Says why the job has to end, or `nil`.
  mutating func verdict() -> PluginFailure? {
    looks += 1
    if let time = limits.time, ContinuousClock().now - start > time.duration {
      return PluginFailure(.transient, "It was ended: it may take \(time) at most.")
    }
    // What a job costs that has to be searched for is looked at less often.
    let isThorough = looks % 4 == 0
    if limits.processes > 1, !isThorough { return nil }
    if let failure = verdictOnProcesses() { return failure }
    return isThorough ? verdictOnFiles() : nil
  }

  private func verdictOnProcesses() -> PluginFailure? {
    let found =
      limits.processes > 1
      ? ProcessUsage.of(group: process) : ProcessUsage.of(process: process)
    // That it is gone is told by others.
    guard let usage = found else { return nil }
    if usage.memoryBytes > limits.memory.bytes {
      return PluginFailure(
        .permanent,
        "It was ended: it used \(ByteSize(bytes: usage.memoryBytes)) of memory, and may use "
          + "\(limits.memory) at most.")
    }
    if let cpu = limits.cpu, usage.processorSeconds - processorStart > cpu.seconds {
      return PluginFailure(
        .permanent, "It was ended: it may use a processor for \(cpu) at most.")
    }
    if usage.processes > limits.processes {
      return PluginFailure(
        .permanent,
        "It was ended: it ran \(usage.processes) processes, and may run \(limits.processes) at "
          + "most.")
    }
    return nil
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
