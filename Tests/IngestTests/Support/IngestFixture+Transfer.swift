import Configuration
import Files
import Glibc
import Manifest
import PipelineModel
import Testing

@testable import Ingest

extension IngestFixture {
  /// Begins a taking of a file as far as the manifest has it.
  func begin(_ name: BytePath) throws -> ManifestFact.Intent {
    let status = try folder(of: name).status(of: name.lastComponent)
    let intent = ManifestFact.Intent(
      taking: try library().ids.next(), source: source.path, path: name,
      identity: status.identity, permissions: status.permissions, moves: source.mode == .move,
      run: nil)
    try library().manifest.append([.intent(intent)])
    return intent
  }

  /// Examines a file of the source, which must be found complete.
  func examined(_ name: BytePath) throws -> ImportAttempt {
    let examination = Examination(
      source: try IngestSource(source, for: nil), ids: try library().ids)
    let step = examination.examine(Candidate(path: name, identity: try identity(name)))
    guard case .next(let attempt) = step else { throw FileError(.other, "\(step)", path: nil) }
    try #require(attempt.lease == .granted)
    return attempt
  }

  /// What brings files of the source into `incoming/`.
  func transfer(
    flushesTogether: Bool? = nil, isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws -> IncomingTransfer {
    let incoming = try library().incoming
    return IncomingTransfer(
      source: try IngestSource(source, for: nil), incoming: incoming, user: geteuid(),
      device: try incoming.status().device, flush: GroupFlush(incoming, isKnown: flushesTogether),
      isStopped: isStopped)
  }
}
