import Files
import PipelineModel

/// A second name for a file, by which workers get to originals. Source: link(2).
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
        name, .warning, "A file with two names says that it has another number of them.",
        advice: "Files may be taken by rename though others have names of them: set \"take\" of "
          + "the sources to \"copy\".")
    }
    return Finding(name, .ok, "Originals are handed to workers without copying them.")
  }
}
