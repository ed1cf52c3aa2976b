import Files
import PipelineModel
import PluginHost

/// Whether the kernel's groups hold workers to their memory, too. Source: cgroups(7).
struct ControlGroupCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    let name = "cgroup"
    let instead =
      "Workers are held to their memory by being looked at 50 times a second and by rlimits; what "
      + "the kernel keeps for them, such as locks of files, is not bounded."
    switch WorkerGroups.shared.whole {
    case .success(let group):
      return [
        Finding(
          name, .ok,
          "The kernel holds workers to memory and threads in groups below "
            + "“\(group.path.printable)”.")
      ]
    case .failure(.notDivided(let error)):
      return [Finding(name, .warning, "\(error.message) \(instead)")]
    case .failure(let absence):
      // Good enough, and usual at a terminal: the units that are installed ask for a group.
      return [Finding(name, .ok, "\(absence.message) \(instead)")]
    }
  }
}
