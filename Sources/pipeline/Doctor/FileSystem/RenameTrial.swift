import Files
import PipelineModel

/// Renaming without replacing an existing file. Source: renameat2(2).
struct RenameTrial: FileSystemTrial {
  let name = "rename"

  func run(in folder: Descriptor) throws(FileError) -> Finding {
    try make("old", "old", in: folder)
    try make("taken", "taken", in: folder)
    guard try isRefused(in: folder), try folder.readFile("taken") == Array("taken".utf8) else {
      throw FileError(
        .other, "A file was renamed over another one in spite of RENAME_NOREPLACE.",
        path: folder.path)
    }
    try folder.rename("old", to: folder, as: "new")
    return Finding(name, .ok, "A rename never replaces another file (RENAME_NOREPLACE).")
  }

  private func isRefused(in folder: Descriptor) throws(FileError) -> Bool {
    do throws(FileError) {
      try folder.rename("old", to: folder, as: "taken")
      return false
    } catch {
      if error.code == .exists { return true }
      throw error
    }
  }
}
