import Files
import PipelineModel

/// Copies that share their blocks. Source: ioctl_ficlone(2).
struct ReflinkTrial: FileSystemTrial {
  let name = "reflink"

  func run(in folder: Descriptor) throws(FileError) -> Finding {
    let source = try make("source", String(repeating: "shared\n", count: 1024), in: folder)
    let copy = try make("copy", "", in: folder)
    guard try copy.clone(from: source) else {
      return Finding(
        name, .ok, "This file system has none: what can't be renamed is copied byte by byte.")
    }
    return Finding(name, .ok, "Copies share blocks with the original.")
  }
}
