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
      let all = members.merging(["library": "library"]) { own, _ in own }
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
    let empty = LibraryCheck().run(try site([:]))
    #expect(empty.map(\.state) == [.failed] && empty[0].detail.contains("has no library.json"))
    let marker = #"{ "format": 1, "library": "0190b5a4-0000-7000-8000-000000000001" }"#
    try Descriptor.openFolder(folder.appending("library")).writeDurably(
      Array(marker.utf8), as: "library.json")
    #expect(LibraryCheck().run(try site([:])).map(\.detail).first?.contains("written") == true)
    chmod(folder.appending("library").description, 0o777)
    #expect(LibraryCheck().run(try site([:])).map(\.state) == [.failed])
  }

  @Test(
    "A library on another file system than the configuration is told, as no run makes it",
    .enabled(if: TemporaryFolder.hasOtherFileSystem, "needs another file system in /dev/shm"))
  func otherFileSystem() throws {
    let memory = try TemporaryFolder(in: "/dev/shm")
    let library = memory.appending("library").description
    let findings = LibraryCheck().run(try site(["library": .string(library)]))
    #expect(findings.map(\.state) == [.failed])
    #expect(findings.first?.advice?.contains("pipeline init --library \(library)") == true)
    var members: [String: JSONValue] = [
      "library": .string(library), "catalog": "postgresql:///none?host=%2Fnowhere",
      "originals": "s3://none/none?endpoint=http://127.0.0.1:9",
    ]
    let either = LibraryCheck().run(try site(members))
    #expect(either.map(\.state) == [.warning])
    #expect(either.first?.detail.contains("`pipeline work` makes it") == true)
    members["node"] = ["name": "second", "joins": true]
    members["sources"] = [["path": "."]]
    #expect(LibraryCheck().run(try site(members)).map(\.state) == [.ok])
  }

  @Test("A folder that is missing above the library or the catalog is named, as no run makes it")
  func missingFolders() throws {
    let library = LibraryCheck().run(try site(["library": "disk/library"]))
    #expect(library.map(\.state) == [.failed])
    #expect(library[0].detail.contains("disk” of “"), "\(library)")
    let catalog = LibraryCheck().run(try site(["catalog": "disk"]))
    #expect(catalog.map(\.name) == ["library", "catalog"])
    #expect(catalog.map(\.state) == [.ok, .failed], "\(catalog)")
    #expect(catalog[1].detail.contains("disk” does not exist"), "\(catalog)")
  }

  @Test("A catalog of its own is checked too")
  func catalog() throws {
    try Descriptor.openFolder(folder.path).makeFolder("catalog")
    let site = try site(["catalog": "catalog"])
    #expect(LibraryCheck().run(site).map(\.name) == ["library", "catalog"])
    #expect(SpaceCheck().run(site).map(\.name) == ["free space", "free space of the catalog"])
  }

  private func check(_ source: JSONValue, _ members: [String: JSONValue] = [:]) throws -> Finding {
    let site = try site(members.merging(["sources": [source], "stages": []]) { $1 })
    let findings = SourcesCheck().run(site)
    try #require(findings.count == 1 && findings[0].name == "source 1")
    return findings[0]
  }

  @Test("A source has to be there, and outside of the library, also by its links")
  func sources() throws {
    #expect(SourcesCheck().run(try site([:])).isEmpty)
    let absent = try check(["path": "inbox"])
    #expect(absent.state == .failed && absent.detail.contains("inbox"))
    try Descriptor.openFolder(folder.path).makeFolder("inbox")
    let found = try check(["path": "inbox", "mode": "move"])
    #expect(found.state == .ok && found.detail.contains("can be read and emptied."))
    #expect(try check(["path": "inbox"]).detail.contains("can be read."))
    try makeLibrary()
    try Descriptor.openFolder(folder.appending("library")).makeFolder("inner")
    try #require(symlink("library/inner", folder.appending("link").description) == 0)
    let inside = try check(["path": "link"])
    #expect(inside.state == .failed && inside.detail.contains("is in the library"))
    try Descriptor.openFolder(folder.path).writeDurably([1], as: "file")
    #expect(try check(["path": "file"]).state == .failed)
  }

  @Test(
    "A source on another disk says so, as its files can't be renamed",
    .enabled(if: TemporaryFolder.hasOtherFileSystem, "needs another file system in /dev/shm"))
  func otherDisk() throws {
    let memory = try TemporaryFolder(in: "/dev/shm")
    let path: JSONValue = .string(memory.path.description)
    let moved = try check(["path": path, "mode": "move"])
    #expect(moved.state == .ok && moved.detail.contains("copied, and then removed"))
    let copied = try check(["path": path])
    #expect(copied.detail.contains("another file system") && !copied.detail.contains("removed"))
  }

  @Test("In a folder of `pipeline work` nothing is advised that is for the library's own folder")
  func workplace() throws {
    try makeLibrary()
    let library = try Descriptor.openFolder(folder.appending("library"))
    try library.writeDurably(Array(#"{"library":"someone's"}"#.utf8), as: "work.json")
    try Descriptor.openFolder(folder.path).makeFolder("inbox")
    let members: [String: JSONValue] = [
      "reserve": "1000000GiB", "sources": [["path": "inbox"]],
      "catalog": "postgresql:///none?host=%2Fnowhere",
    ]
    let site = try site(members)
    #expect(site.workedLibrary == "someone's")
    let checks: [any DoctorCheck] = [
      InotifyCheck(), LibraryCheck(), DatabaseCheck(), FileSystemCheck(), SpaceCheck(),
      SourcesCheck(), ServeCheck(),
    ]
    let findings = checks.flatMap { $0.run(site) }
    #expect(
      findings.map(\.name) == [
        "library", "database", "file system", "fsync", "rename", "hard links", "free space",
        "source 1",
      ])
    let texts = findings.map { "\($0.detail) \($0.advice ?? "")" }
    for text in texts {
      for part in ["imported", "the first run", "only read", "nothing is read", "settle"] {
        #expect(!text.contains(part), "\(text)")
      }
    }
    #expect(texts[6].contains("No more jobs are done"))
    #expect(texts[7].contains("`pipeline work` takes no files"))
    chmod(folder.appending("library").description, 0o777)
    let shared = LibraryCheck().run(site)
    #expect(shared[0].state == .failed && shared[0].advice?.contains("`pipeline work`") == true)
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
