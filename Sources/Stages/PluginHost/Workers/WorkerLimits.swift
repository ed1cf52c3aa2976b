package import Configuration
import Files
import PipelineModel
package import PipelinePlugin
import Sandbox

/// The limits for one job of a worker, with a bound for everything that could exhaust the machine.
struct WorkerLimits: Sendable {
  /// Elapsed time; `nil` for no limit.
  let time: TimeSpan?
  /// Processor time; `nil` for no limit.
  let cpu: TimeSpan?
  let memory: ByteSize
  /// Total size of the files it makes.
  let outputBytes: ByteSize
  let files: Int
  /// Number of processes; 1 if it may start none.
  let processes: Int
  /// Bytes of memory that the kernel lets it request.
  private var dataBytes: Int

  /// Fills in what the stage's limits leave open.
  ///
  /// - Parameter memoryShare: the memory limit if the stage sets none.
  init(_ limits: StageLimits, allowance: StageAllowance, memoryShare: ByteSize) {
    let filled = limits.filled(memory: memoryShare, mayExecute: allowance.exec)
    time = filled.time
    cpu = filled.cpu
    memory = filled.memory ?? memoryShare
    outputBytes = filled.outputBytes ?? StageLimits.standardOutputBytes
    files = filled.files ?? StageLimits.standardFiles
    processes = filled.processes ?? 1
    let (sum, overflow) = memory.bytes.addingReportingOverflow(max(memory.bytes, 512 << 20))
    dataBytes = overflow ? memory.bytes : sum
  }

  /// The limits while a plugin reports its manifest: threads and processes as for a job, and as
  /// much memory as loading libraries needs, or the stage's limit if that is greater.
  init(ofHandshake limits: StageLimits, allowance: StageAllowance) {
    let standard = 1 << 30
    let configured = limits.memory?.bytes ?? 0
    var limits = limits
    limits.memory = ByteSize(bytes: max(configured, standard))
    limits.outputBytes = ByteSize(bytes: 0)
    self.init(limits, allowance: allowance, memoryShare: ByteSize(bytes: standard))
    // Some libraries reserve memory for a thread on each processor.
    if configured <= standard { dataBytes = (512 + 128 * Machine.processors) << 20 }
  }

  /// The most threads of all its processes together: enough for each to use all processors. The
  /// kernel allows at most four million.
  var threads: Int { min(processes, 1 << 20) + 512 }

  /// The failure of a job whose worker the kernel killed for lack of memory.
  ///
  /// - Parameter isSetUp: whether setup was complete, so that the job is to blame.
  func memoryFailure(isSetUp: Bool) -> PluginFailure {
    PluginFailure(
      isSetUp ? .permanent : .environment,
      "It was ended by the kernel: \(isSetUp ? "" : "to be set up, ")it needed more than \(memory) of "
        + "memory, the most that it may use.", limit: .memory)
  }

  /// The limits that the kernel enforces on each process.
  ///
  /// The memory limit is only a second line of defence, for growth faster than the sampling
  /// interval. It counts memory requested, not only memory used.
  var ofProcess: ProcessLimits {
    ProcessLimits(dataBytes: dataBytes, fileBytes: outputBytes.bytes, openFiles: 256)
  }
}

/// Settings for handling workers, apart from job limits.
struct WorkerPolicy: Sendable {
  /// The most seconds for a plugin to load, be set up or answer a question.
  var patience = 30.0
  /// The seconds between a request to end and SIGKILL.
  var grace = 2.0
  /// The seconds that a worker may live after it closed its output.
  var closing = 0.5
  /// The jobs after which a worker is replaced, to recover leaks in libraries.
  var mostJobs = 2000
  /// A worker that uses more memory than this between two jobs is replaced, in bytes.
  var mostIdleMemory = 512 << 20
  /// The seconds until an idle worker is first checked; after that, the interval doubles with its
  /// idle time.
  var idleInterval = 2.0
  /// The most seconds between two checks of an idle worker.
  var mostIdleInterval = 30.0
  /// The idle seconds after which a worker is ended, so that whatever a file turned it into does
  /// not persist.
  var mostIdleTime = 300.0
}

/// Which limit a worker exceeds.
extension WorkerLimits {
  /// Returns which limit a worker's processes currently exceed, or `nil`.
  func verdict(on usage: ProcessUsage) -> PluginFailure? {
    if usage.hidesMemory {
      return PluginFailure(
        .permanent, "It was ended: the kernel does not report how much memory it uses.")
    }
    if usage.memoryBytes > memory.bytes {
      let used = ByteSize(bytes: usage.memoryBytes)
      return ended("it used \(used) of memory, and may use \(memory) at most.", .memory)
    }
    if usage.processes > processes {
      return ended(
        "it ran \(usage.processes) processes, and may run \(processes) at most.", .processes)
    }
    if usage.threads > threads {
      return ended(
        "it ran \(usage.threads) threads, and may run \(threads) at most, 512 more than processes.",
        .processes)
    }
    return nil
  }

  /// Returns which limit a job exceeds, or `nil`.
  ///
  /// - Parameter wanted: the most processor time that the plugin wants; counts if the stage sets no
  ///   limit.
  func verdict(
    time: Duration, processorSeconds: Double, wanted: TimeSpan?
  ) -> PluginFailure? {
    if let most = self.time, time > most.duration {
      return PluginFailure(.transient, "It was ended: it may take \(most) at most.", limit: .time)
    }
    if let cpu = cpu ?? wanted, processorSeconds > cpu.seconds {
      return ended("it may use a processor for \(cpu) at most.", .cpu)
    }
    return nil
  }

  /// Returns which limit a worker's files exceed, including deleted ones that it keeps open, or
  /// `nil`.
  func verdict(
    on folder: WorkerFolder, of worker: WorkerProcess
  ) throws(FileError) -> PluginFailure? {
    let usage = try folder.usage(mostFiles: files)
    if usage.files > files {
      return ended("it may make \(files) files at most.", .files)
    }
    if usage.bytes + (try worker.unlinkedBytes(besides: folder)) > outputBytes.bytes {
      return ended("the files that it made have more than \(outputBytes).", .outputBytes)
    }
    return nil
  }

  private func ended(_ what: String, _ limit: LimitKey) -> PluginFailure {
    PluginFailure(.permanent, "It was ended: \(what)", limit: limit)
  }
}

extension PluginFailure {
  /// Creates the failure of a job that exceeded a limit; appends how to raise that.
  package init(_ class: Class, _ reason: String, limit: LimitKey) {
    self.init(`class`, reason + StageLimits.remedy(limit))
  }

  /// Whether a job exceeded a limit. Only the sentence tells, which a plugin in another process may have made.
  package var isByLimit: Bool { reason.contains(StageLimits.remedyBegin) }
}

/// Detects a worker that hides its memory use.
///
/// While the kernel replaces or ends a process, it briefly reports no memory, so several samples in
/// a row must agree.
struct HiddenMemory {
  private static let enough = 3

  private var looks = 0

  /// Records a sample.
  ///
  /// - Returns: whether memory was hidden in this and enough preceding samples.
  mutating func note(isHidden: Bool) -> Bool {
    looks = isHidden ? looks + 1 : 0
    return looks >= Self.enough
  }
}

/// The worker limits that this machine can't enforce, with reasons.
package enum LimitEnforcement {
  /// One sentence for each; empty if all are enforced.
  package static var missing: [String] {
    let support = SandboxSupport.probeWithNamespaces()
    return [kernelMemory, forks, files(support), sight(support)].compactMap(\.self)
  }

  /// Kernel memory used on behalf of workers, which only a control group counts.
  package static var kernelMemory: String? {
    guard case .failure = WorkerControlGroups.shared.whole else { return nil }
    return
      "Without a control group of its own, such as systemd gives the service, kernel memory used for "
      + "a worker, such as pipe buffers, is not limited, and its own memory is measured "
      + "\(Watchdog.checksEachSecond) times a second."
  }

  /// The limits on threads and processes.
  package static var forks: String? {
    guard !SandboxSupport.probe().asksBeforeForking || ForkGuard.shared.isRefused else {
      return nil
    }
    return
      "Workers can't ask before they create a thread or a process (seccomp_unotify(2)), so these are "
      + "counted \(Watchdog.checksEachSecond) times a second and may exceed the limit in between."
  }

  /// What a plugin may reach if the kernel has no Landlock and workers have no private root either.
  static func files(_ support: SandboxSupport) -> String? {
    guard !support.keepsFilesApart else { return nil }
    // Without seccomp no worker starts, which is reported then.
    let missing = SandboxSupport(landlockABI: 0, seccomp: true).missing
    return "The kernel has no Landlock: \(missing.joined(separator: "; "))."
  }

  /// What a plugin can see without being able to open it.
  static func sight(_ support: SandboxSupport) -> String? {
    guard !support.hidesOthers else { return nil }
    return
      "Workers can't be given a root folder of their own, so a plugin can read the size, times and "
      + "attributes of any file whose path it guesses."
  }
}
