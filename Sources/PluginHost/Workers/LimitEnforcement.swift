import Sandbox

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
      + "\(JobMonitor.checksEachSecond) times a second."
  }

  /// The limits on threads and processes.
  package static var forks: String? {
    guard !SandboxSupport.probe().asksBeforeForking || ForkGuard.shared.isRefused else {
      return nil
    }
    return
      "Workers can't ask before they create a thread or a process (seccomp_unotify(2)), so these are "
      + "counted \(JobMonitor.checksEachSecond) times a second and may exceed the limit in between."
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
