import PipelineModel

/// The names of an import's files in `incoming/`, which say what each file is.
///
/// Unlike an inode number or a time, a name survives a backup. So after a kill, the name decides
/// whether a file may be the only copy.
struct IncomingNames: Hashable, Sendable {
  let taking: AssetID

  /// The source itself, renamed; it is no longer in its folder.
  var itself: BytePath { BytePath(taking.description) }
  /// A copy of the source, which is still in its folder.
  var copy: BytePath { BytePath("\(taking).part") }
  /// Another copy of either, made when a flush failed or an original was damaged.
  var second: BytePath { BytePath("\(taking)\(Self.secondSuffix)") }

  private static let secondSuffix = ".copy"
}
