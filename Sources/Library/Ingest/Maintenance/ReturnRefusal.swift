import PipelineModel
import Records

/// Why a file is not returned, and what to do.
enum ReturnRefusal {
  static func needed(_ origin: AssetOrigin, by path: BytePath) -> String {
    "Another run gave up “\(path.printable)” as a duplicate of these bytes, which are nowhere "
      + "else: the asset stays. `pipeline get \(origin.id) -o FILE` writes a copy."
  }

  static func withoutFolder(_ origin: AssetOrigin) -> String {
    "Its folder no longer exists. Make the folder, or mount its disk, and undo "
      + "the run again; or `pipeline get \(origin.id) -o FILE` writes it elsewhere."
  }

  static func taken(_ origin: AssetOrigin) -> String {
    "Another file is in its place; nothing was replaced. Move that file away and undo the run "
      + "again, or `pipeline get \(origin.id) -o FILE` writes it elsewhere."
  }

  static func lost(_ origin: AssetOrigin) -> String {
    "Its original \(origin.digest) is damaged or missing. Import the file from a good copy, which "
      + "heals it, and undo the run again."
  }
}
