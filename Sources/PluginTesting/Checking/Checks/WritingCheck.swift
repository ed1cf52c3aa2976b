import Files
import Glibc
import Hashing
import PipelineModel

/// It writes to its output folder only, also where nothing would keep it from more.
struct WritingCheck: PluginCheck {
  let name = "writing"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    guard !bench.accepted.isEmpty else { return .skipped("there is no file that it accepts") }
    let plugin = try bench.startReady(mayChangeInput: true)
    var leftovers: [BytePath] = []
    for sample in bench.accepted.prefix(20) {
      let request = try plugin.prepare(sample)
      let before = try state(of: plugin.input)
      plugin.begin(request)
      leftovers += try plugin.finish(request).leftovers
      try compare(before, try state(of: plugin.input), sample)
      try plugin.clear()
    }
    guard let file = leftovers.first else { return .passed("nothing but renditions") }
    return .passed(
      "\(counted(leftovers.count, "file")) that no result names, such as \(file.printable), "
        + "are thrown away")
  }

  private func compare(
    _ before: [BytePath: FileState], _ after: [BytePath: FileState], _ sample: CheckSample
  ) throws(CheckFailure) {
    let names = Set(before.keys).union(after.keys).sorted()
    guard let name = names.first(where: { before[$0] != after[$0] }) else { return }
    let what =
      switch (before[name], after[name]) {
      case (nil, _): "made “\(name.printable)” in the folder of its input"
      case (_, nil): "removed “\(name.printable)” from the folder of its input"
      default: "changed its input"
      }
    throw CheckFailure(
      "For \(sample.name) it \(what).",
      advice: "Write only to the folder that the request names as output; the sandbox allows no "
        + "other, and a plugin that tries fails.")
  }

  private struct FileState: Equatable {
    let digest: Digest
    let modified: Int64
    let permissions: UInt32
  }

  private func state(of folder: BytePath) throws(CheckFailure) -> [BytePath: FileState] {
    var states: [BytePath: FileState] = [:]
    do throws(FileError) {
      let opened = try Descriptor.openFolder(folder)
      for entry in try opened.entries() {
        let status = try opened.status(of: entry.name)
        let bytes = status.kind == .regular ? try opened.readFile(entry.name, limit: 1 << 30) : []
        states[entry.name] = FileState(
          digest: SHA256.digest(of: bytes), modified: status.identity.modified,
          permissions: status.permissions)
      }
    } catch {
      throw CheckFailure(
        "The folder of its input can't be read any more. \(error.message)",
        advice: "Leave it as it is.")
    }
    return states
  }
}
