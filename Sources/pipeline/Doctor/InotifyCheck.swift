import Files
import PipelineModel
import PluginTesting

/// Checks the kernel's limits for `watch`. Source: inotify(7).
struct InotifyCheck: DoctorCheck {
  /// A kernel limit and its meaning.
  private struct Limit {
    let name: String
    let file: String
    /// Values below this are worth a warning.
    let least: Int
    let meaning: String
  }

  /// A folder needs one watch; a running `watch` needs one instance.
  private static let limits = [
    Limit(
      name: "inotify watches", file: "max_user_watches", least: 65_536,
      meaning: "folders can be watched by one user"),
    Limit(
      name: "inotify instances", file: "max_user_instances", least: 32,
      meaning: "programs of one user can watch"),
    Limit(
      name: "inotify queue", file: "max_queued_events", least: 16_384,
      meaning: "changes are queued until they are read; beyond that all folders are rescanned"),
  ]

  func run(_ site: DoctorSite) -> [Finding] { [trial(site)] + Self.limits.map(finding) }

  private func trial(_ site: DoctorSite) -> Finding {
    do throws(FileError) {
      let queue = try Inotify()
      _ = try queue.watch(try Descriptor.openFolder(site.work.path))
      return Finding("inotify", .ok, "A folder can be watched.")
    } catch {
      let setting =
        error.code == .watcherLimit
        ? "fs.inotify.max_user_instances=512" : "fs.inotify.max_user_watches=524288"
      return Finding(
        "inotify", .warning, "\(error.message) So `watch` polls.",
        advice: "As root: sysctl -w \(setting)")
    }
  }

  private func finding(_ limit: Limit) -> Finding {
    let path = BytePath("/proc/sys/fs/inotify/\(limit.file)")
    guard let text = KernelFile.read(path), let value = Int(text) else {
      return Finding(limit.name, .unknown, "\(path.printable) can't be read.")
    }
    let detail = "\(value) \(limit.meaning)."
    guard value < limit.least else { return Finding(limit.name, .ok, detail) }
    return Finding(
      limit.name, .warning, detail,
      advice: "For large collections, as root: sysctl -w fs.inotify.\(limit.file)="
        + "\(limit.least * 8)")
  }
}
