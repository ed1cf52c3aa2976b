import Files
import Glibc
import Hashing
import PipelineModel

/// It writes only to its output folder, even if the sandbox allows more.
struct WritingCheck: PluginCheck {
  let name = "writing"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    guard !bench.accepted.isEmpty else { return .skipped("it accepts none of the files") }
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
    guard let file = leftovers.first else { return .passed("only renditions") }
    return .passed(
      "\(counted(leftovers.count, "file")) that no result names, such as \(file.printable), "
        + "discarded")
  }

  private func compare(
    _ before: [BytePath: FileState], _ after: [BytePath: FileState], _ sample: CheckSample
  ) throws(CheckFailure) {
    let names = Set(before.keys).union(after.keys).sorted()
    guard let name = names.first(where: { before[$0] != after[$0] }) else { return }
    let what =
      switch (before[name], after[name]) {
      case (nil, _): "made “\(name.printable)” in its input folder"
      case (_, nil): "removed “\(name.printable)” from its input folder"
      default: "changed its input"
      }
    throw CheckFailure(
      "For \(sample.name) it \(what).",
      advice: "Write only to the request's output folder; in a worker, the sandbox makes other "
        + "writes fail.")
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
        "Its input folder can no longer be read. \(error.message)",
        advice: "Don't change the input folder.")
    }
    return states
  }
}
