import PipelineModel

/// Candidates waiting to be imported together.
struct CandidateGroup {
  private var candidates: [Candidate] = []
  private var bytes = 0
  private(set) var size = GroupSize()

  mutating func add(_ candidate: Candidate) {
    candidates.append(candidate)
    bytes += candidate.identity.size
  }

  var isFull: Bool { candidates.count >= size.files || bytes >= size.bytes }

  /// Imports them, and adapts the group size to the time that took.
  ///
  /// - Returns: how each ended.
  @discardableResult
  mutating func importFiles(by importer: Importer) throws(IngestError) -> [ImportGroup.Outcome] {
    let clock = ContinuousClock()
    let start = clock.now
    let wasFull = candidates.count >= size.files
    let taken = candidates
    candidates = []
    bytes = 0
    let outcomes = try importer.importFiles(taken)
    size.learn(wasFull: wasFull, duration: clock.now - start)
    return outcomes
  }
}
