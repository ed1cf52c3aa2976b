import Sandbox

/// Which limits of workers can't be held on this machine, and why.
package enum HeldLimits {
  /// A sentence for each; empty where all are held.
  package static var missing: [String] {
    let support = SandboxSupport.probeWithNamespaces()
    return [kernelMemory, forks, files(support), sight(support)].compactMap(\.self)
  }

  /// What the kernel keeps for a worker, which only a control group counts.
  package static var kernelMemory: String? {
    guard case .failure = WorkerGroups.shared.whole else { return nil }
    return
      "Without a control group of its own, as systemd gives one to the service, what the kernel "
      + "keeps for a worker, such as locks of files, is not bounded, and its memory is looked at "
      + "\(JobWatch.looksEachSecond) times a second."
  }

  /// The number of threads and processes.
  package static var forks: String? {
    guard !SandboxSupport.probe().asksBeforeForking || ForkGuard.shared.isRefused else {
      return nil
    }
    return
      "Workers can't be asked before they make a thread or a process (seccomp_unotify(2)), so "
      + "these are counted \(JobWatch.looksEachSecond) times a second, and may be more in between."
  }

  /// What a plugin may reach where the kernel has no Landlock and workers have no root folder of
  /// their own either.
  static func files(_ support: SandboxSupport) -> String? {
    guard !support.keepsFilesApart else { return nil }
    // What the filter of calls lacks keeps workers from starting, which is told then.
    let missing = SandboxSupport(landlockABI: 0, seccomp: true).missing
    return "The kernel has no Landlock: \(missing.joined(separator: "; "))."
  }

  /// What a plugin may see though it can't open it.
  static func sight(_ support: SandboxSupport) -> String? {
    guard !support.hidesOthers else { return nil }
    return
      "Workers can't be given a root folder of their own, so a plugin can ask for "
      + "size, times and attributes of a file whose path it guesses."
  }
}
