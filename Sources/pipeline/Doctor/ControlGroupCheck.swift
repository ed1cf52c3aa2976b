import Files
import PipelineModel
import PluginHost

/// Checks whether control groups also enforce workers' memory limits. Source: cgroups(7).
struct ControlGroupCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    let name = "cgroup"
    let instead =
      "Workers' memory is limited by checks 50 times a second and by rlimits; what the kernel "
      + "allocates for them, such as pipe buffers, is not bounded."
    switch WorkerControlGroups.shared.whole {
    case .success(let group):
      return [
        Finding(
          name, .ok,
          "The kernel limits workers' memory and threads in control groups below "
            + "“\(group.path.printable)”.")
      ]
    case .failure(.notDivided(let error)):
      return [Finding(name, .warning, "\(error.message) \(instead)")]
    case .failure(let absence):
      // Good enough, and usual at a terminal: only the installed units request a group.
      return [Finding(name, .ok, "\(absence.message) \(instead)")]
    }
  }
}
