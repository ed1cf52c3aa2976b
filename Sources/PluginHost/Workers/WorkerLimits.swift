import Configuration
import PipelineModel
import PipelinePlugin
import Sandbox

/// What one job of a worker may use, with a bound for everything that could fill the machine.
struct WorkerLimits: Sendable {
  /// Seconds by the clock; `nil` for no end.
  let time: TimeSpan?
  /// Seconds on processors; `nil` for no end.
  let cpu: TimeSpan?
  /// Bytes of memory.
  let memory: ByteSize
  /// Bytes of all files that it makes.
  let outputBytes: ByteSize
  /// Number of files that it makes.
  let files: Int
  /// Number of processes; 1 where it may start none.
  let processes: Int
  /// Bytes of memory that the kernel lets it ask for.
  private var dataBytes: Int

  /// Takes the stage's limits and fills in what they leave open.
  ///
  /// - Parameter memoryShare: the memory of a stage without a limit of its own.
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

  /// What a plugin may use to say what it is: as many threads and processes as in a job, and what
  /// libraries need to be loaded, or what the stage may use where it says that it is more.
  init(ofHandshake limits: StageLimits, allowance: StageAllowance) {
    let standard = 1 << 30
    let configured = limits.memory?.bytes ?? 0
    var limits = limits
    limits.memory = ByteSize(bytes: max(configured, standard))
    limits.outputBytes = ByteSize(bytes: 0)
    self.init(limits, allowance: allowance, memoryShare: ByteSize(bytes: standard))
    // Some reserve memory for a thread on each processor.
    if configured <= standard { dataBytes = (512 + 128 * Machine.processors) << 20 }
  }

  /// How many threads all its processes may have together: enough for each to use all processors.
  /// The kernel has no more than four million.
  var threads: Int { min(processes, 1 << 20) + 512 }

  /// What a job is told whose worker the kernel ended for want of memory.
  ///
  /// - Parameter isSetUp: whether the plugin had come as far as a job, so that this is to blame.
  func memoryFailure(isSetUp: Bool) -> PluginFailure {
    PluginFailure(
      isSetUp ? .permanent : .environment,
      "It was ended by the kernel: \(isSetUp ? "" : "to be set up, ")it needed more than \(memory) of "
        + "memory, the most that it may use." + StageLimits.remedy(.memory))
  }

  /// The part of it that the kernel watches over.
  ///
  /// The bound of memory is a second line only: it is there for growth that is faster
  /// than anybody looks, and counts memory that is asked for, not only what is used.
  var ofProcess: ProcessLimits {
    ProcessLimits(dataBytes: dataBytes, fileBytes: outputBytes.bytes, openFiles: 256)
  }
}
