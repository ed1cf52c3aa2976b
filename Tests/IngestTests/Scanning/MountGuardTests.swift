import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Records
import Testing

@testable import Ingest

/// Sources and libraries whose disks are not mounted.
@Suite("Disks that are not mounted", .timeLimit(.minutes(1)))
struct MountGuardTests {
  private static func key(_ path: BytePath) -> String {
    "source.mount.\(Hexadecimal.encode(path.bytes))"
  }

  /// A table that asks for a disk at a path.
  private func table(_ fixture: IngestFixture, _ point: BytePath) throws -> MountTable {
    let line = "UUID=1-2 \(point) ext4 nofail 0 2\n"
    try Descriptor.openFolder(fixture.temporary.path).writeDurably(
      Array(line.utf8), as: "fstab")
    return MountTable(fstab: fixture.temporary.appending("fstab"))
  }

  @Test("A source that was a mount point, or lay on a disk, and does not now is refused")
  func unmounted() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    try fixture.run()
    let library = try fixture.library()
    let key = Self.key(fixture.source.path)
    let path = try FileSystem.realPath(of: fixture.source.path)
    // What earlier runs have remembered of the source, whose disk is away now.
    let texts = ["1"] + [path, path.parent].map { "at:" + Hexadecimal.encode($0.bytes) }
    try fixture.remove("a")
    for text in texts {
      try library.catalog.set(key, to: text)
      let error = try #require(throws: IngestError.self) { try fixture.run() }
      #expect(error.code == .source && error.message.contains("mount the disk"), "\(text)")
      #expect(try library.catalog.setting(key) == text)
      #expect(try fixture.sighting("a")?.state == .imported)
    }
    // Taken out of the configuration for a run it is a folder like others.
    _ = try Ingest(into: library, report: fixture.report, isStopped: { false }).importSources([])
    #expect(try library.catalog.setting(key) == nil)
    #expect(try fixture.outcomes() == ["a": .gone])
  }

  @Test("The mount point that a source lies in is remembered, and a nearer one replaces it")
  func mounted() throws {
    // Every Linux has /proc mounted, wherever the tests run.
    let fixture = try IngestFixture(.copy)
    let library = try fixture.library()
    let source = try IngestSource(SourceConfiguration(path: "/proc/sys/kernel"), for: nil)
    let proc = "at:" + Hexadecimal.encode(BytePath("/proc").bytes)
    for text in [nil, "at:" + Hexadecimal.encode(BytePath("/").bytes), proc] {
      try library.catalog.set(Self.key("/proc/sys/kernel"), to: text)
      try MountGuard(library: library).check(source)
      #expect(try library.catalog.setting(Self.key("/proc/sys/kernel")) == proc)
    }
    // A path that led elsewhere, by a link, says nothing about this one.
    let other = "at:" + Hexadecimal.encode(BytePath("/media/disk/inbox").bytes)
    try library.catalog.set(Self.key("/proc/sys/kernel"), to: other)
    try MountGuard(library: library).check(source)
  }

  @Test("A source below a mount point of the table where nothing is mounted is refused")
  func table() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    for point in [fixture.source.path, fixture.temporary.path] {
      fixture.mounts = try table(fixture, point)
      let error = try #require(throws: IngestError.self) { try fixture.run() }
      #expect(error.code == .source && error.message.contains("/etc/fstab"))
      #expect(error.message.contains("“\(point)”"))
      #expect(try fixture.sighting("a") == nil && fixture.report.events == [])
      fixture.close()
    }
    fixture.mounts = try table(fixture, "/proc")
    #expect(try fixture.outcomes() == ["a": .imported])
  }

  @Test("Nothing is returned to a source whose disk is not mounted, and a plan says so")
  func undo() throws {
    let fixture = try IngestFixture()
    try fixture.write("one", to: "a")
    let run = try fixture.recordedRun()
    func expectRefused(_ words: String) throws {
      let failed = try #require(try fixture.undo(run)["a"])
      #expect(failed.outcome == .failed && failed.reason?.contains(words) == true, "\(failed)")
      var steps: [UndoPreview.Step] = []
      let library = try fixture.library()
      let preview = UndoPreview(
        library.reader, of: library.layout, sources: [], mounts: fixture.mounts)
      try preview.forEachStep(of: run) { steps.append($0) }
      #expect(steps.map(\.action) == [.refuse])
      #expect(steps[0].reason?.contains(words) == true, "\(steps)")
    }
    // What an earlier run has remembered of it.
    let key = Self.key(fixture.source.path)
    try fixture.library().catalog.set(key, to: "1")
    try expectRefused("was on a disk mounted at")
    // As after `rebuild-catalog`, which remembers none.
    try fixture.library().catalog.set(key, to: nil)
    fixture.close()
    fixture.mounts = try table(fixture, fixture.source.path)
    try expectRefused("/etc/fstab")
    fixture.close()
    fixture.mounts = MountTable()
    #expect(try fixture.undo(run)["a"]?.outcome == .returned)
  }

  @Test("No library is made below a mount point of the table where nothing is mounted")
  func library() throws {
    let fixture = try IngestFixture(.copy)
    let folder = try Descriptor.openFolder(fixture.temporary.path)
    try folder.makeFolder("disk")
    let layout = LibraryLayout(root: fixture.temporary.appending("disk/library"))
    let mounts = try table(fixture, fixture.temporary.appending("disk"))
    let error = try #require(throws: FileError.self) {
      _ = try LibraryFolder.openOrMake(
        layout, configuration: fixture.temporary.appending("pipeline.json"), mounts: mounts)
    }
    #expect(error.message.contains("/etc/fstab") && error.message.contains("none is made"))
    #expect(try Descriptor.openFolder("disk", in: folder).entries().isEmpty)
    _ = try LibraryFolder.openOrMake(
      layout, configuration: fixture.temporary.appending("pipeline.json"))
    // One that is there is not made, so it may be used.
    _ = try LibraryFolder.openOrMake(
      layout, configuration: fixture.temporary.appending("pipeline.json"), mounts: mounts)
  }
}
