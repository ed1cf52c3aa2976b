import Files
import PipelineModel

/// Whether the kernel's groups hold workers to their memory, too. Source: cgroups(7).
struct ControlGroupCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    do throws(DelegatedControlGroup.Absence) {
      let group = try DelegatedControlGroup.find()
      return [
        Finding(
          "cgroup", .ok,
          "The kernel holds workers to memory and threads in groups below “\(group.path.printable)”."
        )
      ]
    } catch {
      // Good enough, and usual at a terminal: the units that are installed ask for a group.
      return [
        Finding(
          "cgroup", .ok,
          "\(error.message) Workers are held to their memory by being looked at 20 times a second "
            + "and by rlimits.")
      ]
    }
  }
}
