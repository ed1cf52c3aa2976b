import PluginHost

/// Checks whether the program can approve workers' new threads and processes.
struct ForkCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    guard let missing = LimitEnforcement.forks else {
      return [Finding("forks", .ok, "Workers need permission to start threads and processes.")]
    }
    return [
      Finding(
        "forks", .warning, missing,
        advice: "Use Linux 5.5 or newer, and a container whose own seccomp filter has no listener.")
    ]
  }
}
