import Files
import PipelineModel
import Testing

@testable import LibrarySession

/// How `serve` learns that the process that answers HTTP is ready.
@Suite("Readiness of the server", .timeLimit(.minutes(1)))
struct WebReadinessTests {
  private func wait(_ lines: String..., thenEnds: Bool = false) throws -> String? {
    let (own, other) = try Descriptor.makeSocketPair("a channel")
    for line in lines { try other.write(Array(line.utf8)) }
    if thenEnds { other.disconnect() }
    defer { withExtendedLifetime(other) {} }
    do {
      try WebReadiness.wait(on: own, for: .milliseconds(50))
      return nil
    } catch let error as ServingError {
      return error.message
    }
  }

  @Test("It is ready when it says so, whatever comes behind that")
  func ready() throws {
    let (own, other) = try Descriptor.makeSocketPair("a channel")
    try other.write(Array("{}\nmore\n".utf8))
    try WebReadiness.wait(on: own, for: .milliseconds(50))
    #expect(try LineReader(own, limit: 100).next() == Array("more".utf8))
  }

  @Test("Its own reason is told")
  func refused() throws {
    #expect(try wait(#"{"error":"No sandbox."}"#, "\n") == "No sandbox.")
  }

  @Test("One that ends is not waited for")
  func ended() throws {
    #expect(try wait(thenEnds: true) == WebSession.ended.message)
    #expect(try wait("{", thenEnds: true) == WebSession.ended.message)
  }

  @Test("One that says nothing, or only half a line, is not waited for without limit")
  func stalled() throws {
    for lines in ["", "{"] {
      let message = try #require(try wait(lines))
      #expect(message.contains("not ready within 1 s"), "\(message)")
    }
  }
}
