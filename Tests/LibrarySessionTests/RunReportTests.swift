import Synchronization
import Testing

@testable import LibrarySession

/// Who is told of commits and failures.
@Suite("The report of a run", .timeLimit(.minutes(1)))
struct RunReportTests {
  /// A function that a lock holds by itself is wrapped once more by each look at it, and a watch
  /// looks at each commit: after some hundred thousand a call would need more stack than there is.
  @Test("To tell of a commit takes as much stack the thousandth time as the first")
  func stackOfCommits() {
    let report = RunReport(RecordingOutput())
    let listener = Listener()
    report.listen(onCommit: { listener.listen() })
    report.committed()
    let first = listener.address
    for _ in 1..<1000 { report.committed() }
    #expect(listener.times == 1000)
    #expect(listener.address == first)
  }

  @Test("To tell of a failure takes as much stack the thousandth time as the first")
  func stackOfFailures() {
    let report = RunReport(RecordingOutput())
    let listener = Listener()
    report.listen(onCommit: {}, onFailure: { listener.listen() })
    report.failed()
    let first = listener.address
    for _ in 1..<1000 { report.failed() }
    #expect(listener.times == 1000)
    #expect(listener.address == first)
  }

  @Test("Nobody is told any more once all are forgotten")
  func forgotten() {
    let report = RunReport(RecordingOutput())
    let listener = Listener()
    report.listen(onCommit: { listener.listen() }, onFailure: { listener.listen() })
    report.forget()
    report.committed()
    report.failed()
    #expect(listener.times == 0)
  }

  /// Notes where the stack is when it is told.
  private final class Listener: Sendable {
    private let state = Mutex<(times: Int, address: UInt)>((0, 0))

    var times: Int { state.withLock { $0.times } }
    var address: UInt { state.withLock { $0.address } }

    func listen() {
      var local = 0
      let here = withUnsafePointer(to: &local) { UInt(bitPattern: $0) }
      state.withLock { $0 = ($0.times + 1, here) }
    }
  }
}
