import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Copies of a library, and what is made of them.
@Suite("Backup and restore", .timeLimit(.minutes(5)))
struct BackupTests {
  /// A library with two pictures and a duplicate of one.
  private func filled() throws -> Workspace {
    let workspace = try Workspace()
    try workspace.put(try Pictures.jpeg(width: 140, height: 100), as: "a.jpg")
    try workspace.put("text", as: "b.txt")
    try workspace.put("text", as: "again.txt")
    try workspace.json("run")
    return workspace
  }

  private func copy(_ parts: [String], of library: BytePath, to place: BytePath) throws {
    let names = parts.map { library.appending($0).description }
    let copying = try Process.run(
      URL(filePath: "/bin/cp"), arguments: ["-a"] + names + [place.description])
    copying.waitUntilExit()
    try #require(copying.terminationStatus == 0)
  }

  @Test("A library of no more than its marker, manifest and originals is whole again")
  func least() throws {
    let workspace = try filled()
    let keys = try workspace.assets().map { $0["id"] }
    let restored = workspace.root.appending("restored")
    try workspace.makeFolder(restored)
    try copy(["library.json", "manifest", "originals"], of: workspace.library, to: restored)
    try FileManager.default.removeItem(atPath: workspace.library.description)
    #expect(rename(restored.description, workspace.library.description) == 0)
    #expect(try workspace.json("rebuild-catalog").first?["assets"] == 2)
    try workspace.json("run")
    #expect(try workspace.assets().map { $0["id"] } == keys)
    #expect(try workspace.rendition("grid", of: workspace.asset(named: "a.jpg")).width == 64)
    try workspace.expectSound()
  }

  @Test("Readers need none of the folders that can be filled again")
  func readers() throws {
    let workspace = try filled()
    for name in ["renditions", "incoming", "work"] {
      try FileManager.default.removeItem(atPath: workspace.library.appending(name).description)
    }
    let id = BytePath(try #require(try workspace.asset(named: "a.jpg")["id"]?.string))
    for words: [BytePath] in [
      ["list"], ["show", id], ["get", id], ["status"], ["failed"], ["plan"], ["verify"],
      ["explain", "inbox/a.jpg"], ["gc", "--dry-run"], ["trash", "list"],
    ] {
      let outcome = try workspace.program.run(words)
      #expect(outcome.exitCode == 0, "\(words[0]): \(outcome.errors)")
    }
    #expect(!workspace.exists("library/work"))
  }

  @Test(
    "What a run took whose commit is missing is what undo returns",
    .about(.catalogFile))
  func undoBehind() throws {
    let workspace = try filled()
    let early = workspace.root.appending("early")
    try workspace.makeFolder(early)
    try copy(["catalog.sqlite"], of: workspace.library, to: early)
    try workspace.put("later", as: "c.txt")
    try workspace.json("run")
    try copy(["catalog.sqlite"], of: early, to: workspace.library)
    let undone = try workspace.json("undo")
    #expect(undone.outcome("c.txt") == "returned" && undone.of("undone").first?["returned"] == 1)
    #expect(try workspace.files(below: "inbox") == ["c.txt"])
    try workspace.expectSound()
  }

  @Test(
    "An older catalog catches up with its manifest; one that is newer is refused",
    .about(.catalogFile))
  func order() throws {
    let workspace = try filled()
    let early = workspace.root.appending("early")
    try workspace.makeFolder(early)
    try copy(["catalog.sqlite", "manifest"], of: workspace.library, to: early)
    try workspace.put("later", as: "c.txt")
    try workspace.json("run")
    let keys = try workspace.assets().map { $0["id"] }
    let late = workspace.root.appending("late")
    try workspace.makeFolder(late)
    try copy(["catalog.sqlite", "manifest"], of: workspace.library, to: late)

    try copy(["catalog.sqlite"], of: early, to: workspace.library)
    try workspace.json("run")
    #expect(try workspace.assets().map { $0["id"] } == keys)
    try workspace.expectSound()

    try copy(["catalog.sqlite"], of: late, to: workspace.library)
    try FileManager.default.removeItem(
      atPath: workspace.library.appending("manifest").description)
    try copy(["manifest"], of: early, to: workspace.library)
    let refused = try workspace.run("run")
    #expect(refused.exitCode == 1 && refused.errors.contains("rebuild-catalog"))
    #expect(try workspace.json("rebuild-catalog").first?["assets"] == 2)
    try workspace.json("run")
  }

  @Test("Every command of docs/backup.md works, one after the other, also on another disk")
  func page() throws {
    let place = try DocumentFolder()
    // In memory, where it can be: another file system.
    let disk = BytePath("/dev/shm/pipeline-tests-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(atPath: disk.description) }
    try place.makeFolder("mnt")
    if mkdir(disk.description, 0o700) == 0 {
      #expect(symlink(disk.description, place.home.appending(path: "mnt/photos").path) == 0)
    } else {
      try place.makeFolder("mnt/photos")
    }
    let quickStart = try DocumentFolder.blocks("sh", of: "README.md", section: "Quick start")
    try #require(try place.run(quickStart).status == 0)
    var blocks = ""
    for section in [
      "Backing up while nothing runs", "Backing up while `watch` runs", "Checking a backup",
      "Restoring", "Moving a library", "A library on another disk",
    ] {
      let script = try DocumentFolder.blocks("sh", of: "docs/backup.md", section: section)
      blocks += script
      let isBeside = section.contains("watch")
      let outcome = try place.run(isBeside ? Self.besideWatch(script) : script)
      #expect(outcome.status == 0, "\(section): \(outcome.text)")
      #expect(!outcome.text.contains("pipeline:"), "\(section): \(outcome.text)")
    }
    #expect(blocks == (try DocumentFolder.blocks("sh", of: "docs/backup.md", section: nil)))
    let lists = ["pictures", "restored", "other", "archive"].map {
      "pipeline list --config ~/\($0)/pipeline.json | wc -l"
    }
    let counts = try place.run(lists.joined(separator: "\n")).text
    #expect(counts.split(separator: "\n") == ["2", "2", "2", "2"])
    #expect(try place.names("mnt/photos/second").contains("library.json"))
  }

  /// A script that is run while a `watch` is at work on `~/pictures`.
  private static func besideWatch(_ script: String) -> String {
    """
    pipeline watch --config ~/pictures/pipeline.json & watch=$!
    until [ -S ~/pictures/library/control ]; do sleep 0.05; done
    \(script)
    kill $watch
    wait $watch || [ $? = 143 ]
    """
  }
}
