package import Files
import Glibc
package import PipelineModel

/// Identifies the process that works in a worker's folder, so that the next program can end it if
/// it outlives this one.
package struct WorkerPIDFile: Codable {
  var process: Int32
  /// Start time in ticks since boot.
  var start: Int
  /// The boot's id, to which `start` refers.
  var boot: String

  static let name: BytePath = "process"

  init?(_ process: Int32) {
    guard let stat = ProcessStat(process) else { return nil }
    self.process = process
    start = stat.start
    boot = Self.boot
  }

  /// Kills the process group that worked in a folder, if any of it is left.
  package static func endSurvivors(of folder: BytePath, in work: Descriptor) {
    // A folder without a record belonged to no worker.
    guard let opened = try? Descriptor.openFolder(folder, in: work, followsLinks: false),
      let bytes = try? opened.readFile(name, limit: 4096),
      let record = try? JSONText.decode(WorkerPIDFile.self, from: bytes), record.boot == boot
    else { return }
    // The group leader may be gone. A group's number is not reused until all its processes are
    // gone, and any later group with this number started later.
    let survivors = ProcessStat.all().filter { $0.group == record.process }
    guard !survivors.isEmpty, survivors.allSatisfy({ $0.start >= record.start }) else { return }
    if let head = survivors.first(where: { $0.id == record.process }), head.start != record.start {
      return
    }
    kill(-record.process, SIGKILL)
  }

  /// Empty if the kernel provides none: then start times must suffice.
  private static let boot: String = {
    let path: BytePath = "/proc/sys/kernel/random/boot_id"
    let file = try? Descriptor.open(path, flags: O_RDONLY)
    let bytes = try? file?.readToEnd(limit: 4096)
    return String(decoding: bytes ?? [], as: UTF8.self)
  }()
}
