import Sandbox

/// Checks what the kernel offers to confine plugins: Landlock, namespaces and seccomp.
struct SandboxCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    let support = SandboxSupport.probeWithNamespaces()
    return [landlock(support), privateRoot(), filter(support)]
  }

  private func landlock(_ support: SandboxSupport) -> Finding {
    // `filter` reports missing seccomp support.
    let missing = SandboxSupport(
      landlockABI: support.landlockABI, seccomp: true,
      hidesOthers: support.hidesOthers
    ).missing
    let list = missing.isEmpty ? "nothing is missing" : missing.joined(separator: "; ")
    guard support.landlockABI > 0 else {
      return Finding(
        "landlock", .warning, "The kernel has no Landlock: \(list).",
        advice: "Use Linux 5.13 or newer and add “landlock” to its boot parameter "
          + "“lsm”; until then accept files only from people you trust.")
    }
    return Finding("landlock", .ok, "Landlock ABI version \(support.landlockABI): \(list).")
  }

  private func privateRoot() -> Finding {
    guard let reason = SandboxSupport.privateRootRefusal else {
      return Finding("namespaces", .ok, "Workers see only the files that they may access.")
    }
    return Finding(
      "namespaces", .warning,
      "Workers can't get a private root folder (\(reason)): they can read the size, times and "
        + "attributes of files that they may not open, if they guess the paths.",
      advice: "Allow user namespaces (sysctl user.max_user_namespaces; on Ubuntu an AppArmor "
        + "profile, in a container its seccomp filter, in a systemd unit "
        + "RestrictNamespaces and SystemCallFilter), or accept that.")
  }

  private func filter(_ support: SandboxSupport) -> Finding {
    if support.seccomp { return Finding("seccomp", .ok, "System calls can be filtered.") }
    return Finding(
      "seccomp", .failed, "System calls can't be filtered, so no plugin can run in a worker.",
      advice: "Use a kernel with CONFIG_SECCOMP_FILTER, and a container that allows seccomp.")
  }
}
