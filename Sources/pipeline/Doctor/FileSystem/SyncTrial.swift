import Files
import PipelineModel

/// Making a file and its name durable. Source: fsync(2).
struct SyncTrial: FileSystemTrial {
  let name = "fsync"

  func run(in folder: Descriptor) throws(FileError) -> Finding {
    let file = try make("synced", String(repeating: "durable\n", count: 1024), in: folder)
    let start = ContinuousClock.now
    try file.sync()
    try folder.sync()
    let time = ContinuousClock.now - start
    return Finding(name, .ok, "A file and its name were made durable in \(time.rounded).")
  }
}
