import Catalog
import Files
import Fixtures
import Glibc
import Ingest
import Originals
import PipelineModel
import Records
import Testing

@testable import LibrarySession

/// A library as verbs read it.
@Suite("Reading a library", .timeLimit(.minutes(1)))
struct ReadingSessionTests {
  /// A library with some files.
  private func library(of texts: [String]) throws -> SessionFixture {
    let fixture = try SessionFixture()
    for text in texts { try fixture.put(text, as: BytePath("\(text).txt")) }
    _ = try RunSession(
      .locked(fixture.configuredLibrary().lock()), verb: "run", output: RecordingOutput(),
      signals: SignalHandler()
    ).run { try $0.importSources($1) }
    return fixture
  }

  @Test("An asset is found by a part of its ID that no other has")
  func asset() throws {
    let fixture = try library(of: ["one", "two"])
    let session = try ReadingSession(fixture.search)
    let ids = try session.catalog.lastImportingRun().map {
      try session.catalog.origins(of: $0, before: nil, limit: 9).map(\.id)
    }
    let id = try #require(ids?.first)
    #expect(try session.asset(BytePath(String(id.description.suffix(12)))).id == id)
    for wrong in ["0", "zz"] {
      let error = #expect(throws: SessionError.self) { try session.asset(BytePath(wrong)) }
      #expect(error?.code == .noAsset)
    }
  }

  @Test("An original is read, and its damage is reported after its last byte")
  func original() throws {
    let fixture = try library(of: ["one"])
    let session = try ReadingSession(fixture.search)
    let run = try #require(try session.catalog.lastImportingRun())
    let id = try #require(try session.catalog.origins(of: run, before: nil, limit: 1).first?.id)
    let asset = try #require(try session.catalog.asset(id))
    var bytes: [UInt8] = []
    try session.readOriginal(of: asset) { bytes += $0 }
    #expect(bytes == Array("one".utf8))
    let path = session.setup.layout.originals.appending(OriginalLayout.path(of: asset.digest))
    chmod(path.description, 0o600)
    try Descriptor.open(path, flags: O_WRONLY).write(Array("two".utf8))
    let error = #expect(throws: FileError.self) { try session.readOriginal(of: asset) { _ in } }
    #expect(error?.code == .changed)
  }

  @Test("A library without a first run is absent")
  func absent() throws {
    let fixture = try SessionFixture()
    #expect(try ReadingSession.ifPresent(fixture.search) == nil)
    #expect(throws: IngestError.self) { try ReadingSession(fixture.search) }
  }

  @Test("A path is explained by its source, also through a link")
  func explanation() throws {
    let fixture = try SessionFixture()
    let path = try fixture.put("one", as: "one.txt")
    let setup = try LibrarySetup(fixture.search)
    #expect(setup.explanation(of: path).next.contains("next run"))
    symlink("inbox", fixture.folder.appending("link").description)
    let linked = fixture.folder.appending("link/one.txt")
    #expect(setup.explanation(of: path, typed: linked).next.contains("next run"))
    #expect(setup.explanation(of: linked).reason?.contains("none of the sources") == true)
  }
}
