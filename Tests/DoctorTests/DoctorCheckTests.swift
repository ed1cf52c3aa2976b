import Files
import Fixtures
import Glibc
import LibrarySession
import PipelineModel
import Testing

@testable import Doctor

/// Checks of folders that the tests make; they start no worker.
@Suite("Checks of the doctor", .timeLimit(.minutes(1)))
struct DoctorCheckTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A site with a configuration, if there are members for one.
  private func site(_ members: [String: JSONValue]? = nil) throws -> DoctorSite {
    if let members {
      let all = members.merging(["library": "library"]) { $1 }
      try Descriptor.openFolder(folder.path).writeDurably(
        Array(try JSONText.encode(JSONValue.object(all)).utf8), as: "pipeline.json", mode: 0o600)
    }
    return try DoctorSite(ConfigurationSearch(workingFolder: folder.path))
  }

  private func makeLibrary(mode: mode_t = 0o700) throws {
    try Descriptor.openFolder(folder.path).makeFolder("library")
    chmod(folder.appending("library").description, mode)
  }

  @Test("The file system is tried next to the library, and nothing is left there")
  func fileSystem() throws {
    do {
      let findings = FileSystemCheck().run(try site())
      #expect(
        findings.map(\.name)
          == ["file system", "fsync", "rename", "reflink", "hard links", "read leases"])
      #expect(findings.allSatisfy { $0.state != .failed && $0.state != .unknown })
      #expect(findings.first { $0.name == "rename" }?.state == .ok)
    }
    #expect(try Descriptor.openFolder(folder.path).entries().isEmpty)
  }

  @Test("Less free space than the reserve is a failure")
  func space() throws {
    let enough = SpaceCheck().run(try site(["reserve": "1MiB"]))
    #expect(enough.map(\.state) == [.ok] && enough[0].detail.contains("1 MiB"))
    let short = SpaceCheck().run(try site(["reserve": "1000000GiB"]))
    #expect(short.map(\.state) == [.failed] && short[0].advice?.contains("reserve") == true)
  }

  @Test("A library may be absent, but no stranger may write to it")
  func library() throws {
    #expect(LibraryCheck().run(try site()).isEmpty)
    let absent = LibraryCheck().run(try site([:]))
    #expect(absent.map(\.state) == [.ok] && absent[0].detail.contains("does not exist yet"))
    try makeLibrary()
    #expect(LibraryCheck().run(try site([:])).map(\.detail).first?.contains("written") == true)
    chmod(folder.appending("library").description, 0o777)
    #expect(LibraryCheck().run(try site([:])).map(\.state) == [.failed])
  }

  @Test("A catalog of its own is checked too")
  func catalog() throws {
    try Descriptor.openFolder(folder.path).makeFolder("catalog")
    let site = try site(["catalog": "catalog"])
    #expect(LibraryCheck().run(site).map(\.name) == ["library", "catalog"])
    #expect(SpaceCheck().run(site).map(\.name) == ["free space", "free space of the catalog"])
  }

  @Test("The kernel and its limits for watching are found")
  func kernel() throws {
    #expect(KernelCheck().run(try site()).map(\.state) == [.ok])
    let names = InotifyCheck().run(try site()).map(\.name)
    #expect(names == ["inotify", "inotify watches", "inotify instances", "inotify queue"])
  }

  @Test("Samples are small, and there is one of each kind")
  func samples() {
    let samples = LoaderSample.all
    #expect(samples.count == 24 && Set(samples.map(\.format)).count == samples.count)
    #expect(samples.allSatisfy { !$0.bytes.isEmpty && $0.bytes.count < 10_000 })
    #expect(samples.map(\.bytes.count).reduce(0, +) < 100_000)
  }

  @Test("A thumbnail has its picture's size, that of a drawing the size asked for")
  func sizes() {
    let picture = LoaderSample.Size.exactly(width: 24, height: 16)
    #expect(picture.matches(width: 24, height: 16, longest: 64))
    #expect(!picture.matches(width: 16, height: 24, longest: 64))
    #expect(!picture.matches(width: 64, height: 43, longest: 64))
    let drawing = LoaderSample.Size.drawn
    #expect(drawing.matches(width: 64, height: 43, longest: 64))
    #expect(drawing.matches(width: 64, height: 42, longest: 64))
    for (width, height) in [(24, 16), (64, 44), (64, 41), (43, 64), (64, 64)] {
      #expect(!drawing.matches(width: width, height: height, longest: 64))
    }
  }
}
