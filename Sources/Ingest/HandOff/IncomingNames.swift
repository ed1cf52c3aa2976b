import PipelineModel

/// The names of a taking's files in `incoming/`, which say what each file is.
///
/// A name survives a backup, unlike an inode number or a time. So after a kill the name decides
/// whether a file may be the only copy.
struct IncomingNames: Hashable, Sendable {
  let taking: AssetID

  /// The source itself, renamed. Its folder does not have it any more.
  var itself: BytePath { BytePath(taking.description) }
  /// A copy of the source, which is still in its folder.
  var copy: BytePath { BytePath("\(taking).part") }
  /// Another copy of one of the two, made where a flush failed or an original was damaged.
  var second: BytePath { BytePath("\(taking)\(Self.secondSuffix)") }

  private static let secondSuffix = ".copy"
}
