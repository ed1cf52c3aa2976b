import PipelineModel

/// Candidates that wait to be taken together.
struct CandidateGroup {
  private var candidates: [Candidate] = []
  private var bytes = 0
  private(set) var size = GroupSize()

  mutating func add(_ candidate: Candidate) {
    candidates.append(candidate)
    bytes += candidate.identity.size
  }

  /// Whether it is time to take them.
  var isFull: Bool { candidates.count >= size.files || bytes >= size.bytes }

  /// Takes them, and begins anew with a size that suits how long it took.
  ///
  /// - Returns: how each ended.
  @discardableResult
  mutating func take(by handOff: HandOff) throws(IngestError) -> [Group.Ending] {
    let clock = ContinuousClock()
    let start = clock.now
    let wasFull = candidates.count >= size.files
    let taken = candidates
    candidates = []
    bytes = 0
    let endings = try handOff.take(taken)
    size.learn(wasFull: wasFull, duration: clock.now - start)
    return endings
  }
}
