import Catalog
import Files
import PipelineModel

/// Refuses a source that was a mount point and is an ordinary folder now.
///
/// An unmounted disk leaves an empty folder behind, and what it seems to say
/// about its files is not true.
struct MountGuard {
  let library: IngestLibrary

  func check(_ source: IngestSource) throws(IngestError) {
    let key = "source.mount.\(Hexadecimal.encode(source.root.bytes))"
    try translating {
      let parent = try Descriptor.openFolder(source.root.parent)
      let isMount = try parent.status().device != source.folder.status().device
      let wasMount = try library.catalog.setting(key) == "1"
      if wasMount && !isMount {
        throw IngestError(
          .source,
          "“\(source.root.printable)” was a mount point and is an ordinary folder now: mount its "
            + "disk. If it is meant to be a folder, take it out of the configuration for one run.",
          path: source.root)
      }
      if isMount != wasMount { try library.catalog.set(key, to: isMount ? "1" : nil) }
    }
  }
}
