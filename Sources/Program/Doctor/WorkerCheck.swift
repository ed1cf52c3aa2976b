import Engine
import Files
import PipelineModel
import PipelinePlugin
import PluginHost
import Sandbox

/// Checks whether a worker starts, enters its sandbox and answers.
struct WorkerCheck: SingleCheck {
  func finding(_ site: DoctorSite) -> Finding {
    do throws(PluginFailure) {
      let path = try site.finder.find(StagePlan.identifier)
      let start = ContinuousClock.now
      _ = try WorkerBackend(WorkerProgram(.library(path), secrets: site.secrets))
      let time = ContinuousClock.now - start
      return Finding(
        "worker", .ok, "A worker started, entered its sandbox and answered in \(time.rounded).")
    } catch {
      return Finding(
        "worker", .failed, error.reason,
        advice: "Until a worker can start, only stages with \"isolation\": \"none\" run.")
    }
  }
}

extension Duration {
  /// In milliseconds, for people.
  var rounded: String {
    let (seconds, rest) = components
    let milliseconds = seconds * 1000 + rest / 1_000_000_000_000_000
    return milliseconds == 0 ? "less than 1 ms" : "\(milliseconds) ms"
  }
}

/// Checks whether the program can approve workers' new threads and processes.
struct ForkCheck: SingleCheck {
  func finding(_ site: DoctorSite) -> Finding {
    guard let missing = LimitEnforcement.forks else {
      return Finding("forks", .ok, "Workers need permission to start threads and processes.")
    }
    return Finding(
      "forks", .warning, missing,
      advice: "Use Linux 5.11 or newer, and a container whose own seccomp filter has no listener.")
  }
}

/// Checks whether control groups also enforce workers' memory limits. Source: cgroups(7).
struct ControlGroupCheck: SingleCheck {
  func finding(_ site: DoctorSite) -> Finding {
    let name = "cgroup"
    let instead =
      "Workers' memory is limited by checks 50 times a second and by rlimits; what the kernel "
      + "allocates for them, such as pipe buffers, is not bounded."
    switch WorkerControlGroups.shared.whole {
    case .success(let group):
      return Finding(
        name, .ok,
        "The kernel limits workers' memory and threads in control groups below "
          + "“\(group.path.printable)”.")
    case .failure(.notDivided(let error)):
      return Finding(name, .warning, "\(error.message) \(instead)")
    case .failure(let absence):
      // Good enough, and usual at a terminal: only the installed units request a group.
      return Finding(name, .ok, "\(absence.message) \(instead)")
    }
  }
}

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
