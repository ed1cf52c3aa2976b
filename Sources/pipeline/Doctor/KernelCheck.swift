import PipelineModel

/// Checks the kernel's version.
struct KernelCheck: DoctorCheck {
  /// The first version with all system calls that workers need. Source: close_range(2),
  /// pidfd_open(2).
  private static let oldest = [5, 11]

  func run(_ site: DoctorSite) -> [Finding] {
    guard let release = KernelFile.read("/proc/sys/kernel/osrelease") else {
      return [Finding("kernel", .unknown, "The kernel does not report its version.")]
    }
    let version = release.split(whereSeparator: { !$0.isNumber }).prefix(2).compactMap { Int($0) }
    guard !version.lexicographicallyPrecedes(Self.oldest) else {
      return [
        Finding(
          "kernel", .failed, "Linux \(release) lacks system calls to start and watch workers.",
          advice: "Use Linux 5.11 or newer; Debian 12 has 6.1.")
      ]
    }
    return [Finding("kernel", .ok, "Linux \(release).")]
  }
}
