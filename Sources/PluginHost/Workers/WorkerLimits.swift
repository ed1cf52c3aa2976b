import Configuration
import PipelineModel
import PipelinePlugin
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
        + "memory, the most that it may use." + StageLimits.remedy(.memory))
  }

  /// The limits that the kernel enforces on each process.
  ///
  /// The memory limit is only a second line of defence, for growth faster than the sampling
  /// interval. It counts memory requested, not only memory used.
  var ofProcess: ProcessLimits {
    ProcessLimits(dataBytes: dataBytes, fileBytes: outputBytes.bytes, openFiles: 256)
  }
}
