import Catalog
import Configuration
import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

@testable import Ingest

@Suite("Libraries and mount points", .timeLimit(.minutes(1)))
struct LibraryFolderTests {
  let temporary: TemporaryFolder
  let folder: Descriptor
  let layout: LibraryLayout

  init() throws {
    temporary = try TemporaryFolder()
    folder = try Descriptor.openFolder(temporary.path)
    layout = LibraryLayout(root: temporary.appending("library"))
  }

  private func refusal(_ body: () throws -> Void) throws -> IngestError {
    try #require(throws: IngestError.self) { try body() }
  }

  @Test("A new library is for its owner only, whole, and has an identity")
  func make() throws {
    let made = try LibraryFolder.openOrMake(
      layout, configuration: temporary.appending("pipeline.json"))
    #expect(try made.folder.status().permissions == 0o700)
    #expect(AssetID(made.marker.library) != nil && made.marker.format == 1)
    #expect(
      Set(try made.folder.entries().map(\.name))
        == ["library.json", "manifest", "originals", "renditions", "incoming", "work"])
    #expect(try folder.entries().map(\.name) == ["library"])
    let again = try LibraryFolder.openOrMake(
      layout, configuration: temporary.appending("pipeline.json"))
    #expect(again.marker == made.marker)
  }

  @Test("What a kill left of making a library is finished the next time")
  func halfMade() throws {
    try folder.makeFolder(".library.new")
    try Descriptor.openFolder(".library.new", in: folder).makeFolder("manifest")
    let made = try LibraryFolder.openOrMake(
      layout, configuration: temporary.appending("pipeline.json"))
    #expect(try made.folder.entries().count == 6)
    #expect(try folder.entries().map(\.name) == ["library"])
  }

  @Test("A missing library, and a folder that is none, are refused with different advice")
  func refusals() throws {
    let missing = try refusal { _ = try LibraryFolder.open(layout) }
    #expect(missing.code == .notALibrary && missing.message.contains("There is no library"))
    try folder.makeFolder("library")
    let empty = try refusal {
      _ = try LibraryFolder.openOrMake(layout, configuration: temporary.appending("pipeline.json"))
    }
    #expect(empty.code == .notALibrary && empty.message.contains("no library.json"))
    #expect(try Descriptor.openFolder("library", in: folder).entries().isEmpty)
  }

  @Test("Where originals are is read again once the library is locked")
  func readAgain() throws {
    let found = try LibraryFolder.openOrMake(
      layout, configuration: temporary.appending("pipeline.json"))
    // Another process moves them meanwhile.
    let marker = #"{"library":"\#(found.marker.library)","format":2,"originals":"s3://bucket/p"}"#
    try found.folder.writeDurably(Array(marker.utf8), as: "library.json")
    let now = try found.readAgain()
    #expect(found.bucket == nil && now.bucket?.name == "s3://bucket/p")
    let other = marker.replacing(found.marker.library, with: "another")
    try found.folder.writeDurably(Array(other.utf8), as: "library.json")
    #expect(try refusal { _ = try found.readAgain() }.code == .notALibrary)
  }

  @Test("A marker that can't be read, or is of a later format, is refused and left")
  func markers() throws {
    try folder.makeFolder("library")
    let library = try Descriptor.openFolder("library", in: folder)
    try library.writeDurably(Array("{".utf8), as: "library.json")
    #expect(try refusal { _ = try LibraryFolder.open(layout) }.code == .notALibrary)
    try library.writeDurably(Array(#"{"library":"x","format":2}"#.utf8), as: "library.json")
    let newer = try refusal { _ = try LibraryFolder.open(layout) }
    #expect(newer.code == .newerVersion && newer.message.contains("format 2"))
    #expect(try library.entries().count == 1)
  }

  @Test(
    "A new library is not made on another file system",
    .enabled(if: TemporaryFolder.hasOtherFileSystem, "needs another file system in /dev/shm"))
  func otherFileSystem() throws {
    let elsewhere = "/dev/shm/pipeline-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: elsewhere, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: elsewhere) }
    let there = LibraryLayout(root: BytePath(elsewhere).appending("library"))
    let error = try #require(throws: FileError.self) {
      try LibraryFolder.openOrMake(there, configuration: temporary.appending("pipeline.json"))
    }
    #expect(error.code == .crossDevice)
    #expect(try Descriptor.openFolder(BytePath(elsewhere)).entries().isEmpty)
  }

  @Test("A library is worked on by one at a time; who waits gets it, or says who has it")
  func lock() throws {
    let library = try LibraryFolder.openOrMake(
      layout, configuration: temporary.appending("pipeline.json"))
    var held: FileLock? = try library.lock()
    let error = try refusal { _ = try library.lock() }
    #expect(error.code == .locked && error.message.contains("process \(getpid())"))
    let waited = try ContinuousClock().measure {
      _ = try refusal { _ = try library.lock(wait: TimeSpan(milliseconds: 200)) }
    }
    #expect(waited >= .milliseconds(200))
    withExtendedLifetime(held) {}
    held = nil
    withExtendedLifetime(try library.lock(wait: IngestFixture.patience)) {}
  }
}
