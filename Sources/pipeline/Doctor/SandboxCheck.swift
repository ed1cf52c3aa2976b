import Sandbox

/// What the kernel has to keep plugins in: Landlock and the filter of system calls.
struct SandboxCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    let support = SandboxSupport.probeWithNamespaces()
    return [landlock(support), privateRoot(), filter(support)]
  }

  private func landlock(_ support: SandboxSupport) -> Finding {
    // What the filter lacks is told with the filter.
    let missing = SandboxSupport(
      landlockABI: support.landlockABI, seccomp: true,
      hidesOthers: support.hidesOthers
    ).missing
    let list = missing.isEmpty ? "nothing is missing" : missing.joined(separator: "; ")
    guard support.landlockABI > 0 else {
      return Finding(
        "landlock", .warning, "The kernel has no Landlock: \(list).",
        advice: "Use Linux 5.13 or newer, and if that is so put “landlock” into its parameter "
          + "“lsm”; until then let nobody put files into the sources whom you don't trust.")
    }
    return Finding("landlock", .ok, "Landlock's version is \(support.landlockABI): \(list).")
  }

  private func privateRoot() -> Finding {
    guard let reason = SandboxSupport.privateRootRefusal else {
      return Finding("namespaces", .ok, "Workers see no files but those that they may reach.")
    }
    return Finding(
      "namespaces", .warning,
      "Workers can't be given a root folder of their own (\(reason)): of a file that "
        + "they may not open they can ask for size, times and attributes, if they guess its path.",
      advice: "Allow user namespaces (sysctl user.max_user_namespaces; on Ubuntu a profile of "
        + "AppArmor, in a container its filter of system calls, in a unit of systemd "
        + "RestrictNamespaces and SystemCallFilter), or accept that.")
  }

  private func filter(_ support: SandboxSupport) -> Finding {
    if support.seccomp { return Finding("seccomp", .ok, "System calls can be filtered.") }
    return Finding(
      "seccomp", .failed, "System calls can't be filtered, so no plugin can run in a worker.",
      advice: "Use a kernel with CONFIG_SECCOMP_FILTER, and a container that allows seccomp.")
  }
}
