import Files
import Fixtures
import PipelineModel
import PipelinePlugin
import PluginHost
import Testing

/// A library in a worker, which is spoken to one message after the other.
@Suite("Libraries in workers", .timeLimit(.minutes(1)))
struct LibraryWorkerTests {
  private let folder: TemporaryFolder
  private let compiler: PluginCompiler
  private let session: WorkerSession

  init() throws {
    folder = try TemporaryFolder()
    compiler = try PluginCompiler()
    let program = WorkerProgram(
      .library(try compiler.compile()), host: BuiltProgram.path)
    session = try WorkerSession(program, named: "worker", in: folder.path)
  }

  /// Sends a message and waits for its answer.
  private func ask(_ message: HostMessage) throws -> PluginMessage {
    session.send(message)
    while let event = session.next(within: TimeSpan(milliseconds: 30_000)) {
      switch event {
      case .message(.log), .message(.progress), .log: continue
      case .message(let answer): return answer
      case .malformed, .ended: throw Unexpected("\(event)")
      }
    }
    throw Unexpected("no answer")
  }

  private func job(_ name: String) throws -> HostMessage {
    .process(
      PluginRequest(
        job: name,
        asset: .init(
          id: try #require(AssetID("018f0000-0000-7000-8000-000000000001")), name: "a",
          digest: try #require(Digest(bytes: [UInt8](repeating: 7, count: 32))), size: 1),
        input: "/in", output: "/out", options: [:], facts: [:]))
  }

  @Test("A job that is to be given up after its end is forgotten")
  func lateCancel() throws {
    _ = try ask(.hello(protocol: HostMessage.currentProtocol, program: "test"))
    #expect(try ask(.create(options: [:])) == .created)
    let done = PluginMessage.result(job: "1", .done(facts: ["answer": 42]))
    #expect(try ask(job("1")) == done)
    session.send(.cancel(job: "1"))
    // Something else is answered, so that the end of the first is history.
    #expect(try ask(.estimate(facts: [[:]])) == .estimates([4096]))
    // No two jobs of a worker have one name, but here it shows what is remembered.
    #expect(try ask(job("1")) == done)
    try session.end()
  }
}
