import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Files that are named to import", .timeLimit(.minutes(1)))
struct NamedFileTests {
  @Test("A file that somebody writes to is a failure with a reason, and is taken when it is closed")
  func openForWriting() throws {
    let fixture = try IngestFixture()
    let path = fixture.temporary.appending("card.jpg")
    var writer: Descriptor? = try Descriptor.open(
      path, flags: O_WRONLY | O_CREAT, mode: 0o600)
    try writer?.write(Array("picture".utf8))
    let event = try #require(try fixture.importFile(path))
    #expect(event.outcome == .failed)
    #expect(event.reason?.contains("open for writing") == true)
    #expect(event.reason?.contains("import it again") == true)
    writer = nil
    #expect(try fixture.importFile(path)?.outcome == .imported)
  }

  @Test("A link, a pipe and nothing at all are failures with a reason")
  func noFile() throws {
    let fixture = try IngestFixture()
    let link = fixture.temporary.appending("link")
    try #require(symlink("\(fixture.source.path)", "\(link)") == 0)
    #expect(try fixture.importFile(link)?.outcome == .failed)
    #expect(try fixture.importFile(link)?.reason?.contains("symbolic link") == true)
    let pipe = fixture.temporary.appending("pipe")
    try #require(mkfifo("\(pipe)", 0o600) == 0)
    #expect(try fixture.importFile(pipe)?.outcome == .failed)
    #expect(try fixture.importFile(fixture.temporary.appending("nothing"))?.outcome == .failed)
  }

  @Test("An empty file that somebody writes to settles; one that nobody writes to is rejected")
  func empty() throws {
    let fixture = try IngestFixture()
    var writer: Descriptor? = try Descriptor.open(
      fixture.path("a"), flags: O_WRONLY | O_CREAT, mode: 0o600)
    #expect(try fixture.outcomes() == ["a": .settling])
    writer = nil
    _ = writer
    #expect(try fixture.outcomes() == ["a": .rejected])
  }
}
