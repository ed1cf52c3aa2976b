import Files
import Glibc
import PipelineModel

/// Properties of the machine on which defaults depend.
package enum Machine {
  /// The number of processors that this process may use, at least 1.
  ///
  /// Counts `Cpus_allowed` in `/proc/self/status` (proc(5)), the mask that sched_getaffinity(2)
  /// returns; glibc declares that function only for `_GNU_SOURCE`, without which the `Glibc`
  /// module is built.
  package static let processors: Int = {
    let allowed = allowedProcessors()
    return allowed > 0 ? allowed : max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
  }()

  private static func allowedProcessors() -> Int {
    // Without /proc the count is unknown.
    let status = try? Descriptor.open("/proc/self/status", flags: O_RDONLY).readToEnd()
    let label = Array("Cpus_allowed:".utf8)
    let line = status?.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: label) }
    // Hexadecimal digits in groups separated by commas.
    return (line ?? []).dropFirst(label.count).reduce(0) { sum, byte in
      sum + (Character(Unicode.Scalar(byte)).hexDigitValue ?? 0).nonzeroBitCount
    }
  }

  /// The machine's memory in bytes (sysconf(3)), at least 256 MiB.
  package static let physicalMemory: Int = {
    let pages = sysconf(Int32(_SC_PHYS_PAGES))
    let size = sysconf(Int32(_SC_PAGESIZE))
    return max(256 << 20, pages * size)
  }()
}
