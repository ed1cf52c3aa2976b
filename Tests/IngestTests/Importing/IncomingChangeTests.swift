import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Records
import Synchronization
import Testing

@testable import Ingest

/// Of a group that is renamed and flushed together, one file is written to at a certain moment.
@Suite("Changes while a file is taken by rename", .timeLimit(.minutes(2)))
struct IncomingChangeTests {
  private let fixture: IngestFixture
  private let attempts: [ImportAttempt]

  init() throws {
    fixture = try IngestFixture()
    attempts = try (0..<GroupFlush.fewestFiles).map { [fixture] number in
      try fixture.write("file \(number)", to: BytePath("\(number)"), permissions: 0o640)
      return try fixture.examined(BytePath("\(number)"))
    }
  }

  private enum Moment {
    /// While the first file is read: after it was renamed, and before it is looked at again.
    case whileRead
    case behindReading
  }

  /// Brings the group into `incoming/`, and disturbs its first file at a moment.
  ///
  /// - Parameter stops: whether the program is to end once all files have been read.
  /// - Returns: how each of them ended, in the order of the group.
  private func transfer(disturbedAt moment: Moment, stops: Bool) throws -> [StepResult<
    IncomingFile
  >] {
    let path = "\(fixture.layout.incoming.appending(attempts[0].incoming.itself))"
    // There is one question whether to stop for each file while it is read, one when all have been,
    // and no other. Several files are read at once, so another one may ask first.
    let state = Mutex((questions: 0, isDisturbed: false))
    let count = attempts.count
    let transfer = try fixture.transfer(flushesTogether: true) {
      state.withLock { state in
        state.questions += 1
        if !state.isDisturbed, moment == .whileRead || state.questions > count {
          // A writer who found it there, and waits for the lease.
          state.isDisturbed = chmod(path, 0o640) == 0
          if state.isDisturbed { _ = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) }
        }
        return stops && state.questions > count
      }
    }
    let steps = transfer.run(attempts).map(\.1)
    #expect(state.withLock { $0.questions == count + 1 && $0.isDisturbed })
    return steps
  }

  private func expectGivenBack(_ step: StepResult<IncomingFile>) throws {
    guard case .ended(.settling, let reason) = step else {
      Issue.record("It is \(step).")
      return
    }
    #expect(reason == "It changed while it was being imported.")
    let status = try Descriptor.openFolder(fixture.source.path).status(of: "0")
    #expect(status.permissions == 0o640 && !fixture.exists("0.returned-1"))
  }

  @Test("One that was written to while it was read goes back before the others are flushed")
  func changedWhileRead() throws {
    // The program is to end before the flush, so nobody looks at the file again.
    let steps = try transfer(disturbedAt: .whileRead, stops: true)
    try expectGivenBack(steps[0])
    for step in steps.dropFirst() {
      guard case .ended(.settling, let reason) = step else {
        Issue.record("It is \(step).")
        continue
      }
      #expect(reason.contains("asked to stop"))
    }
    #expect(try filesBelow(fixture.source.path).count == attempts.count)
  }

  @Test("One that is written to after it was read goes back, and the others are taken")
  func changedBehindReading() throws {
    let steps = try transfer(disturbedAt: .behindReading, stops: false)
    try expectGivenBack(steps[0])
    for step in steps.dropFirst() {
      guard case .next(let received) = step else {
        Issue.record("It is \(step).")
        continue
      }
      #expect(received.wasRenamed)
    }
    #expect(try filesBelow(fixture.source.path) == ["0": Array("file 0".utf8)])
    #expect(try filesBelow(fixture.layout.incoming).count == attempts.count - 1)
  }
}
