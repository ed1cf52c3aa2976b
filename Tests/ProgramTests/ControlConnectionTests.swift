import Dispatch
import Files
import Fixtures
import PipelineModel
import Testing

@testable import pipeline

/// What the holder of a library tells who asks it for something.
@Suite("Answers to a verb", .timeLimit(.minutes(1)))
struct ControlConnectionTests {
  @Test("An answer that can't be written as JSON is told as a failure, and is the last")
  func unwritable() throws {
    let temporary = try TemporaryFolder()
    let folder = try Descriptor.openFolder(temporary.path)
    let listener = try LocalSocket.listen(as: "control", in: folder)
    let verb = try #require(try LocalSocket.connect(to: "control", in: folder))
    let socket = try #require(try listener.accept())
    let connection = ControlConnection(socket, queue: DispatchQueue(label: "test"))
    connection.send(.warning("first"))
    connection.send(.result(RequestResult(members: ["ratio": .number(.nan)])))
    connection.send(.warning("too late"))
    #expect(connection.isOver)
    // So that a test that fails does not wait.
    try verb.setNonBlocking()
    var lines = LineBuffer()
    lines.add(try verb.descriptor.readToEnd())
    var answers: [ControlMessage.Response] = []
    while let line = lines.next() {
      answers.append(try JSONText.decode(ControlMessage.Response.self, from: line))
    }
    try #require(answers.count == 2)
    guard case .warning("first") = answers[0], case .failure(let failure) = answers[1] else {
      Issue.record("\(answers)")
      return
    }
    #expect(failure.exitCode == ExitCode.fatal.rawValue && failure.message.contains("JSON"))
  }
}
