import Files
import PipelineModel

/// How many files one group takes: few at first, so that stages get work soon,
/// then more, so that one flush serves many.
struct GroupSize {
  private(set) var files = 8
  /// Bytes that a group does not exceed, unless one file does.
  let bytes = 256 << 20
  /// Two descriptors are open for each file of a group; half of them all are left
  /// for everything else.
  private static let mostFiles = max(1, min(256, DescriptorLimit.current / 4))

  /// Lets the next group be twice as large.
  mutating func grow() { files = min(files * 2, Self.mostFiles) }
}

/// Candidates that wait to be taken together.
struct CandidateGroup {
  private(set) var candidates: [Candidate] = []
  private var bytes = 0
  private var size = GroupSize()

  mutating func add(_ candidate: Candidate) {
    candidates.append(candidate)
    bytes += candidate.identity.size
  }

  /// Whether it is time to take them.
  var isFull: Bool { candidates.count >= size.files || bytes >= size.bytes }

  /// Empties the group for the next ones.
  mutating func removeAll() -> [Candidate] {
    defer {
      candidates = []
      bytes = 0
      size.grow()
    }
    return candidates
  }
}
