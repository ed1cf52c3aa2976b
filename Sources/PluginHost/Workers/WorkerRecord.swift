package import Files
import Glibc
package import PipelineModel

/// Which process works in a worker's folder, written beside it, so that one that
/// outlives the program can be found and ended by the next.
package struct WorkerRecord: Codable {
  var process: Int32
  /// In ticks since the machine started.
  var start: Int
  /// Which start of the machine that was.
  var boot: String

  static let name: BytePath = "process"

  init?(_ process: Int32) {
    guard let stat = ProcessStat(process) else { return nil }
    self.process = process
    start = stat.start
    boot = Self.boot
  }

  /// Ends all processes of the group that worked in a folder; nothing if there are none.
  package static func endSurvivors(of folder: BytePath, in work: Descriptor) {
    // A folder without a record was no worker's.
    guard let opened = try? Descriptor.openFolder(folder, in: work, followsLinks: false),
      let bytes = try? opened.readFile(name, limit: 4096),
      let record = try? JSONText.decode(WorkerRecord.self, from: bytes), record.boot == boot
    else { return }
    // The head of the group may be gone; a group's number is not given out again before
    // all of it are, and whoever else has it now began later.
    let survivors = ProcessStat.all().filter { $0.group == record.process }
    guard !survivors.isEmpty, survivors.allSatisfy({ $0.start >= record.start }) else { return }
    if let head = survivors.first(where: { $0.id == record.process }), head.start != record.start {
      return
    }
    kill(-record.process, SIGKILL)
  }

  /// Empty where the kernel doesn't say: then the times since its start have to do.
  private static let boot: String = {
    let path: BytePath = "/proc/sys/kernel/random/boot_id"
    let file = try? Descriptor.open(path, flags: O_RDONLY)
    let bytes = try? file?.readToEnd(limit: 4096)
    return String(decoding: bytes ?? [], as: UTF8.self)
  }()
}
