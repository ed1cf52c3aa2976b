import Files
import Glibc
import PipelineModel
import PluginTesting

/// Checks the kernel's version.
struct KernelCheck: SingleCheck {
  /// The first version with all system calls that workers need. Source: close_range(2),
  /// pidfd_open(2).
  private static let oldest = [5, 11]

  func finding(_ site: DoctorSite) -> Finding {
    guard let release = KernelFile.read("/proc/sys/kernel/osrelease") else {
      return Finding("kernel", .unknown, "The kernel does not report its version.")
    }
    let version = release.split(whereSeparator: { !$0.isNumber }).prefix(2).compactMap { Int($0) }
    guard !version.lexicographicallyPrecedes(Self.oldest) else {
      return Finding(
        "kernel", .failed, "Linux \(release) lacks system calls to start and watch workers.",
        advice: "Use Linux 5.11 or newer; Debian 12 has 6.1.")
    }
    return Finding("kernel", .ok, "Linux \(release).")
  }
}

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

  func run(_ site: DoctorSite) -> [Finding] {
    // `work` watches no folders.
    site.isWorkplace ? [] : [trial(site)] + Self.limits.map(finding)
  }

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

/// Reads files in `/proc` and `/sys`. Source: proc(5).
enum KernelFile {
  /// Returns the text without trailing line breaks; `nil` if the file can't be read.
  static func read(_ path: BytePath) -> String? {
    guard let file = try? Descriptor.open(path, flags: O_RDONLY),
      var bytes = try? file.readToEnd(limit: 1 << 20)
    else { return nil }
    while bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
