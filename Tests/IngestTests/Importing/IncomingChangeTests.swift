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

  /// Brings the group into `incoming/`, and disturbs its first file when a question is asked.
  ///
  /// - Parameters:
  ///   - question: which of the questions whether to stop: there is one for each file while it is
  ///     read, one when all have been, and no other.
  ///   - stops: whether the last question is answered by yes.
  /// - Returns: how each of them ended, in the order of the group.
  private func transfer(disturbingAt question: Int, stops: Bool) throws -> [StepResult<
    IncomingFile
  >] {
    let path = "\(fixture.layout.incoming.appending(attempts[0].incoming.itself))"
    let questions = Mutex(0)
    let count = attempts.count
    let transfer = try fixture.transfer(flushesTogether: true) {
      let asked = questions.withLock { questions in
        questions += 1
        return questions
      }
      if asked == question {
        // A writer who found it there, and waits for the lease.
        chmod(path, 0o640)
        _ = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      }
      return stops && asked > count
    }
    let steps = transfer.run(attempts).map(\.1)
    #expect(questions.withLock { $0 } == count + 1)
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
    let steps = try transfer(disturbingAt: 1, stops: true)
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
    let steps = try transfer(disturbingAt: attempts.count + 1, stops: false)
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
