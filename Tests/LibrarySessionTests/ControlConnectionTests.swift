import Dispatch
import Files
import Fixtures
import LibraryControl
import PipelineModel
import Synchronization
import Testing

@testable import LibrarySession

/// What the holder of a library tells who asks it for something.
@Suite("Answers to a verb", .timeLimit(.minutes(1)))
struct ControlConnectionTests {
  private let temporary: TemporaryFolder
  private let verb: LocalSocket
  private let connection: ControlConnection

  init() throws {
    temporary = try TemporaryFolder()
    let folder = try Descriptor.openFolder(temporary.path)
    let listener = try LocalSocket.listen(as: "control", in: folder)
    verb = try #require(try LocalSocket.connect(to: "control", in: folder))
    let socket = try #require(try listener.accept())
    connection = ControlConnection(socket, queue: DispatchQueue(label: "test"))
  }

  /// What the verb was told so far.
  private func answers() throws -> [ControlMessage.Response] {
    // So that a test that fails does not wait.
    try verb.descriptor.setNonBlocking()
    var lines = LineBuffer()
    lines.add(try verb.descriptor.readToEnd())
    var answers: [ControlMessage.Response] = []
    while let line = lines.next() {
      answers.append(try JSONText.decode(ControlMessage.Response.self, from: line))
    }
    return answers
  }

  @Test("An answer that can't be written as JSON is told as a failure, and is the last")
  func unwritable() throws {
    connection.send(.warning("first"))
    connection.send(.result(RequestResult(members: ["ratio": .number(.nan)])))
    connection.send(.warning("too late"))
    #expect(connection.isOver)
    let answers = try answers()
    try #require(answers.count == 2)
    guard case .warning("first") = answers[0], case .failure(let failure) = answers[1] else {
      Issue.record("\(answers)")
      return
    }
    #expect(failure.kind == .fatal && failure.message.contains("JSON"))
  }
  @Test("A request of another version is refused with advice")
  func otherVersion() throws {
    var request = ControlMessage.Request(request: .gc)
    request.protocolVersion = 0
    try verb.send(ControlMessage.line(request))
    let events = Mutex<[ControlConnection.Event]>([])
    connection.read { event in events.withLock { $0.append(event) } }
    try waitUntil { events.withLock { $0 } == [.ended] }
    let answers = try answers()
    guard answers.count == 1, case .failure(let failure) = answers[0] else {
      Issue.record("\(answers)")
      return
    }
    #expect(failure.code == "version" && failure.message.contains("restart it"))
  }

  @Test("A request that was not begun when the holder ends is refused, so that its sender retries")
  func refused() throws {
    try verb.send(ControlMessage.line(ControlMessage.Request(request: .gc)))
    let events = Mutex<[ControlConnection.Event]>([])
    connection.read { event in events.withLock { $0.append(event) } }
    try waitUntil { events.withLock { $0 } == [.request] }
    #expect(!connection.isBusy)
    connection.end()
    let answers = try answers()
    guard answers.count == 1, case .refused = answers[0] else {
      Issue.record("\(answers)")
      return
    }
  }
}
