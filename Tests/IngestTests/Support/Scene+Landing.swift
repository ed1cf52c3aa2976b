import Files
import Glibc
import PipelineModel
import Testing

@testable import Ingest

extension Scene {
  /// Examines a file of the source, which must be found complete.
  func examined(_ name: BytePath) throws -> Taking {
    let examination = Examination(source: try IngestSource(source), ids: try library().ids)
    let step = examination.examine(Candidate(path: name, identity: try identity(name)))
    guard case .next(let taking) = step else { throw FileError(.other, "\(step)", path: nil) }
    try #require(taking.lease == .granted)
    return taking
  }

  /// What brings files of the source into `incoming/`.
  func landing(
    flushesTogether: Bool? = nil, isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws -> Landing {
    let incoming = try library().incoming
    return Landing(
      source: try IngestSource(source), incoming: incoming, user: geteuid(),
      device: try incoming.status().device, flush: GroupFlush(incoming, isKnown: flushesTogether),
      isStopped: isStopped)
  }
}
