import Glibc
import PipelineModel

/// Whether the kernel's groups could hold workers to their memory. Source: cgroups(7).
struct ControlGroupCheck: DoctorCheck {
  private static let wanted = ["memory", "pids"]
  private static let instead =
    "Workers are held to their memory by being looked at 20 times a second and by rlimits"

  func run(_ site: DoctorSite) -> [Finding] {
    guard let groups = KernelFile.read("/proc/self/cgroup"),
      let own = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::") })
    else { return [Finding("cgroup", .ok, "There is no cgroup v2 here. \(Self.instead).")] }
    guard let mount = Self.mount() else {
      return [Finding("cgroup", .ok, "cgroup v2 is not mounted. \(Self.instead).")]
    }
    let path = mount.appending(String(own.dropFirst("0::/".count))).normalized
    let listed = KernelFile.read(path.appending("cgroup.controllers"))
    let controllers = (listed ?? "").split(separator: " ").map(String.init)
    let missing = Self.wanted.filter { !controllers.contains($0) }
    guard missing.isEmpty else {
      return [
        Finding(
          "cgroup", .ok,
          "cgroup v2 has no controller of \(missing.joined(separator: " and ")) for this process. "
            + "\(Self.instead).")
      ]
    }
    let mayWrite = path.appending("cgroup.procs").isWritable && path.isWritable
    return [
      Finding(
        "cgroup", .ok,
        "The controllers memory and pids are \(mayWrite ? "" : "not ")delegated to this process. "
          + "\(Self.instead).")
    ]
  }

  /// Where the one hierarchy of version 2 is mounted.
  private static func mount() -> BytePath? {
    for line in (KernelFile.read("/proc/self/mountinfo") ?? "").split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard let dash = fields.firstIndex(of: "-"), fields.indices.contains(dash + 1),
        fields[dash + 1] == "cgroup2", fields.count > 4
      else { continue }
      return BytePath(String(fields[4]))
    }
    return nil
  }
}

extension BytePath {
  /// Whether this process may write there, as far as can be told without trying. Source: access(2).
  var isWritable: Bool {
    let path = bytes.map { CChar(bitPattern: $0) } + [0]
    return access(path, W_OK) == 0
  }
}
