import Files
import PipelineModel

/// Hard links, through which workers open originals. Source: link(2).
struct HardLinkTrial: FileSystemTrial {
  let name = "hard links"

  func run(in folder: Descriptor) throws(FileError) -> Finding {
    let file = try make("first", "linked", in: folder)
    do throws(FileError) {
      try folder.link(file.path, as: "second")
    } catch {
      return Finding(
        name, .ok, "\(error.message) So each worker gets a copy of each original it works on.")
    }
    guard try folder.status(of: "second").links == 2 else {
      return Finding(
        name, .warning, "The link count of a file with two names is not 2.",
        advice: "Files with other hard links may be moved by rename: set \"take\" of "
          + "the sources to \"copy\".")
    }
    return Finding(name, .ok, "Workers get originals without copying them.")
  }
}
