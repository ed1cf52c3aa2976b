import PipelineModel

/// A shot that may be of a burst: a picture, or what belongs to it, by its primary.
struct BurstFrame: Hashable {
  var id: AssetID
  /// The path below the source.
  var path: BytePath
  /// Whether the camera chose this picture to stand for the burst.
  var isCover = false
  /// When it was taken, by the clock on the spot, in microseconds since 1970.
  var taken: Int64?
  /// The cameras of its files, folded.
  var cameras: Set<String> = []
}

/// The frames of what may be a burst, and which of them stands for it.
///
/// They follow from the shots alone, in whatever order these came.
enum BurstFormation {
  /// The most files with one sign that are looked at.
  static let mostFiles = 500
  /// How long a burst may take, in microseconds.
  static let longest: Int64 = 10 * 60 * 1_000_000

  /// The cover of a burst; `nil` if these shots are none.
  ///
  /// - Parameter least: how few shots may be a burst.
  static func cover(of frames: [BurstFrame], least: Int) -> AssetID? {
    guard frames.count >= max(2, least), frames.count <= mostFiles,
      Sign.areConsistent(frames.reduce(into: []) { $0.formUnion($1.cameras) })
    else { return nil }
    let times = frames.compactMap(\.taken)
    // What names alone suggest, scanners write, too.
    if least > 2 {
      guard times.count == frames.count, frames[0].cameras.count == 1,
        frames.allSatisfy({ $0.cameras == frames[0].cameras })
      else { return nil }
    }
    if let first = times.min(), let last = times.max() {
      let (length, overflow) = last.subtractingReportingOverflow(first)
      guard !overflow, length <= longest else { return nil }
    }
    let chosen = frames.filter(\.isCover)
    if chosen.count == 1 { return chosen[0].id }
    return frames.min { isBefore($0, $1) }?.id
  }

  /// Whether a frame is earlier, by time, path and key; those without a time come last.
  private static func isBefore(_ left: BurstFrame, _ right: BurstFrame) -> Bool {
    let (first, second) = (left.taken ?? .max, right.taken ?? .max)
    if first != second { return first < second }
    return left.path == right.path ? left.id < right.id : left.path < right.path
  }
}
