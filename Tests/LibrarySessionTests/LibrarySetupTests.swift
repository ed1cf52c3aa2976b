import Configuration
import Fixtures
import PipelineModel
import Testing

@testable import LibrarySession

/// What follows from the configuration.
@Suite("The setup of a library", .timeLimit(.minutes(1)))
struct LibrarySetupTests {
  @Test("The reserve is that of the configuration, or 256 MiB, or 1 % of a smaller disk")
  func reserve() throws {
    #expect(LibrarySetup.reserve(nil, diskSize: .max) == 256 << 20)
    #expect(LibrarySetup.reserve(nil, diskSize: 1_000_000_000) == 10_000_000)
    let fixture = try SessionFixture(["reserve": "5MiB"])
    let setup = try LibrarySetup(fixture.search)
    #expect(LibrarySetup.reserve(setup.configuration, diskSize: 1_000_000_000) == 5 << 20)
    #expect(setup.reserve() == 5 << 20)
  }

  @Test("Stages' output has room until the free space is less than the reserve")
  func shortage() throws {
    let fixture = try SessionFixture(["reserve": "1MiB"])
    _ = try fixture.configuredLibrary()
    #expect(try LibrarySetup(fixture.search).shortage() == nil)
    try fixture.configure(["reserve": "1000000GiB"])
    let sentence = try #require(try LibrarySetup(fixture.search).shortage())
    #expect(sentence.contains("kept in reserve") && sentence.contains("library"))
  }

  @Test("Where no configuration is found, the places searched are named")
  func none() throws {
    let folder = try TemporaryFolder()
    let search = ConfigurationSearch(workingFolder: folder.path)
    let error = #expect(throws: SessionError.self) { try LibrarySetup(search) }
    #expect(error?.code == .noConfiguration)
    #expect(error?.message.contains(folder.appending("pipeline.json").printable) == true)
    #expect(try LibrarySetup.ifPresent(search) == nil)
  }
}
