import Files
import Fixtures
import Glibc
import PipelineModel
import PipelinePlugin
import Testing

@testable import PluginHost

@Suite("Answers of a worker", .timeLimit(.minutes(1)))
struct AnswerTests {
  private func written(_ message: PluginMessage) throws -> PluginMessage {
    let folder = try TemporaryFolder()
    let path = folder.appending("answers")
    AnswerWriter(try Descriptor.open(path, flags: O_WRONLY | O_CREAT, mode: 0o600)).write(message)
    let bytes = try Descriptor.open(path, flags: O_RDONLY).readToEnd()
    #expect(bytes.count { $0 == UInt8(ascii: "\n") } == 1)
    return try PluginMessage(line: bytes)
  }

  @Test("A result that can't be written as JSON is told as a failure")
  func unwritable() throws {
    let facts: JSONValue = ["number": .number(.infinity)]
    let answer = try written(.result(job: "7", .done(facts: facts)))
    guard case .result("7", .failed(let failure)) = answer else {
      Issue.record("\(answer)")
      return
    }
    #expect(failure.class == .permanent && failure.reason.contains("JSON"))
    let whole = PluginMessage.result(job: "8", .done(facts: ["number": .number(0.5)]))
    #expect(try written(whole) == whole)
  }
}
