import PipelineModel
import Records
import Testing

@testable import Engine
@testable import LibrarySession

@Suite("What a terminal is told when nothing happens")
struct SilenceNoticeTests {
  private let start = ContinuousClock().now

  private func job(at seconds: Int) -> RunningJob {
    RunningJob(
      stage: "thumbs", name: "IMG.jpg", since: start + .seconds(seconds),
      limit: TimeSpan(milliseconds: 600_000))
  }

  @Test("After 30 s of silence it is told which file and stage is waited for, and 30 s later again")
  func told() throws {
    var notice = SilenceNotice(at: start)
    func text(_ seconds: Int, lastEvent: Int? = nil) -> String? {
      notice.text(
        at: start + .seconds(seconds), lastEvent: lastEvent.map { start + .seconds($0) },
        waitingFor: job(at: 0))
    }
    #expect(text(29) == nil)
    let first = try #require(text(31))
    #expect(first.contains("“thumbs”") && first.contains("“IMG.jpg”") && first.contains("31 s"))
    #expect(first.contains("may take 10m"))
    #expect(text(40) == nil)
    #expect(text(62, lastEvent: 50) == nil)
    #expect(text(81, lastEvent: 50) != nil)
  }

  @Test("Nothing is told of a job that has just begun, or where none runs")
  func nothing() {
    var notice = SilenceNotice(at: start)
    let now = start + .seconds(90)
    #expect(notice.text(at: now, lastEvent: nil, waitingFor: nil) == nil)
    #expect(notice.text(at: now, lastEvent: nil, waitingFor: job(at: 80)) == nil)
  }

  @Test("Of another machine's job it is told which machine, and never a time that is not")
  func remote() throws {
    var notice = SilenceNotice(at: start)
    let began = Timestamp(microseconds: 1_000_000_000)
    let job = RemoteJob(node: "atlas", stage: "thumbs", name: "IMG.jpg", since: began)
    func text(_ seconds: Int, of job: RemoteJob?, ahead: Int64 = 0) -> String? {
      notice.text(
        at: start + .seconds(seconds), lastEvent: nil, waitingFor: job,
        time: Timestamp(microseconds: began.microseconds + (Int64(seconds) - ahead) * 1_000_000))
    }
    #expect(text(29, of: job) == nil)
    #expect(text(31, of: nil) == nil)
    let first = try #require(text(31, of: job))
    #expect(first.contains("“thumbs” on “IMG.jpg”") && first.contains("atlas"))
    #expect(first.contains("for 31 s"))
    #expect(text(40, of: job) == nil)
    #expect(text(62, of: job, ahead: 3600)?.contains("for 0 s") == true)
  }
}
