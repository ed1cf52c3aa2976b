import PluginHost

/// Whether workers can be asked before they make threads and processes.
struct ForkCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    guard let missing = HeldLimits.forks else {
      return [Finding("forks", .ok, "Workers are asked before they make threads and processes.")]
    }
    return [
      Finding(
        "forks", .warning, missing,
        advice: "Use Linux 5.5 or newer, and a container whose own seccomp filter has no listener.")
    ]
  }
}
