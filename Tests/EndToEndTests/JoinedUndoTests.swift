import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// `undo` on machines that join a library.
@Suite(
  "Returning files on several machines",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(10)))
struct JoinedUndoTests {
  /// Runs `undo` on a machine.
  private func undo(
    _ bench: JoinedBench, _ words: BytePath..., on machine: String = "second", exit: Int32 = 0,
    at location: SourceLocation = #_sourceLocation
  ) throws -> (files: [JSONValue], summary: JSONValue) {
    let configuration = BytePath("\(machine).json")
    let outcome = try bench.workspace.program.run(
      ["undo", "--json", "--config", configuration] + words)
    #expect(outcome.exitCode == exit, "\(outcome)", sourceLocation: location)
    let events = try outcome.events()
    return (
      events.of("file"),
      try #require(events.of("undone").first, "\(outcome)", sourceLocation: location)
    )
  }

  /// Keeps the content of a file that is about to be removed, so that it does not count as lost.
  private func keep(_ text: String, in workspace: Workspace) throws {
    let folder = workspace.root.appending("kept")
    try workspace.makeFolder(folder)
    try workspace.put(text, as: "kept.txt", in: folder)
  }

  /// The files in the folder of a machine.
  private func files(_ bench: JoinedBench, of machine: String = "second") throws -> [BytePath] {
    try bench.workspace.files(below: BytePath("from-\(machine)")).sorted()
  }

  @Test(
    "A machine that joins gets its files back, with names, modes and times, also while it watches",
    arguments: [false, true])
  func returned(isWatching: Bool) throws {
    let bench = try JoinedBench()
    let workspace = bench.workspace
    let recorder = try bench.startWatch()
    let folder = workspace.root.appending("from-second")
    try workspace.makeFolder(folder.appending("sub"))
    let raw = BytePath(bytes: [0x73, 0x75, 0x62, 0x2F, 0xFF, 0x0A])
    try workspace.put("of a raw name", as: raw, in: folder)
    try bench.put(["a.txt"])
    try Unprivileged.shell(
      "chmod 640 from-second/a.txt; touch -d '2001-02-03 04:05:06.789' from-second/a.txt",
      in: workspace)
    let before = try FileSystem.status(of: folder.appending("a.txt"))
    let run = try #require(try bench.run().summary["run"]?.string)
    #expect(try files(bench) == [])
    // A later run of another machine is none of this one's business.
    try workspace.put("of the first", as: "first.txt")
    try bench.shared.wait(for: "the other import") { try bench.shared.count("asset") == 3 }
    let watch = isWatching ? try bench.startJoined() : nil
    let planned = try undo(bench, "--dry-run")
    #expect(planned.summary["run"]?.string == run && planned.summary["wouldReturn"] == 2)
    #expect(try files(bench) == [])
    let undone = try undo(bench)
    #expect(undone.summary["run"]?.string == run && undone.summary["returned"] == 2)
    let path = folder.appending("a.txt").description
    #expect(undone.files.contains { $0["path"]?.string == path }, "\(undone.files)")
    #expect(try files(bench) == ["a.txt", raw])
    #expect(try workspace.read("from-second/a.txt") == Array("second a.txt".utf8))
    let after = try FileSystem.status(of: folder.appending("a.txt"))
    #expect(after.permissions == before.permissions)
    #expect(after.identity.modified == before.identity.modified)
    #expect(try workspace.assets().map { $0["name"]?.string } == ["first.txt"])
    #expect(try undo(bench).summary["reason"]?.string?.contains("already undone") == true)
    // It stays where it is until it changes.
    try bench.put(["b.txt"])
    if let watch {
      try watch.wait(for: "the next import") { try bench.shared.count("asset") == 2 }
      try bench.end(watch)
    }
    try bench.run()
    #expect(try files(bench) == ["a.txt", raw])
    let explained = try workspace.json(
      "explain", folder.appending("a.txt"), "--config", "second.json")
    #expect(explained.of("path").first?["state"] == "returned")
    try bench.end(recorder)
    try workspace.json("gc", "--yes")
    try workspace.json("rebuild-catalog")
    #expect(try undo(bench).summary["reason"]?.string?.contains("name the run") == true)
    let next = try bench.startWatch()
    try bench.run()
    #expect(try files(bench) == ["a.txt", raw])
    try keep("second a.txt", in: workspace)
    try bench.put(["a.txt"], text: "another content")
    try bench.run()
    #expect(try files(bench) == [raw])
    try bench.end(next)
    try bench.expectSound()
  }

  @Test("Nothing is replaced, and what came from elsewhere or is needed stays, with a reason")
  func refused() throws {
    let bench = try JoinedBench()
    let workspace = bench.workspace
    try bench.add("third")
    let recorder = try bench.startWatch()
    try bench.put(["taken.txt", "needed.txt", "free.txt"])
    let run = BytePath(try #require(try bench.run().summary["run"]?.string))
    try bench.put(["again.txt"], on: "third", text: "second needed.txt")
    let other = try bench.run("third")
    #expect(other.summary["duplicates"] == 1)
    try bench.put(["taken.txt"], text: "a newcomer")
    func expectRefused(
      _ result: (files: [JSONValue], summary: JSONValue), _ words: [String: String]
    ) {
      let reasons = result.files.filter { $0["outcome"] == "failed" }
      #expect(reasons.count == words.count)
      for (name, text) in words {
        #expect(
          reasons.contains {
            $0["path"]?.string?.hasSuffix(name) == true
              && $0["reason"]?.string?.contains(text) == true
          }, "\(name): \(reasons)")
      }
    }
    // On other machines, nothing.
    for machine in ["third", "pipeline"] {
      let elsewhere = try undo(bench, run, on: machine, exit: 3)
      #expect(elsewhere.summary["returned"] == 0 && elsewhere.summary["failed"] == 3)
      #expect(
        elsewhere.files.count { $0["reason"]?.string?.contains("the machine “second”") == true }
          == 2)
    }
    let undone = try undo(bench, run, exit: 3)
    #expect(undone.summary["returned"] == 1)
    expectRefused(
      undone, ["taken.txt": "Another file is in its place", "needed.txt": "as a duplicate"])
    #expect(try files(bench) == ["free.txt", "taken.txt"])
    #expect(try workspace.read("from-second/taken.txt") == Array("a newcomer".utf8))
    // What the first machine has imported is for that one.
    try workspace.put("of the first", as: "first.txt")
    try bench.shared.wait(for: "the other import") { try bench.shared.count("asset") == 3 }
    let first = try undo(bench, "--dry-run", on: "pipeline").summary["run"]?.string
    let foreign = try undo(bench, BytePath(try #require(first)), exit: 3)
    expectRefused(foreign, ["first.txt": "the machine with the library's own folder"])
    // Without the process that records, nothing is written.
    try bench.end(recorder)
    try keep("a newcomer", in: workspace)
    try workspace.remove("from-second/taken.txt")
    let alone = try workspace.run("undo", run, "--config", "second.json")
    #expect(alone.exitCode == 1 && alone.errors.contains("library's lock"), "\(alone)")
    #expect(try files(bench) == ["free.txt"])
    let next = try bench.startWatch()
    let rest = try undo(bench, run, exit: 3)
    #expect(rest.summary["returned"] == 1 && rest.summary["failed"] == 1)
    #expect(try files(bench) == ["free.txt", "taken.txt"])
    try bench.end(next)
    try workspace.json("gc", "--yes")
    try bench.expectSound()
  }

  @Test(
    "A return that was not recorded is completed before its source is looked at",
    arguments: [false, true])
  func interrupted(isShared: Bool) throws {
    let bench = try JoinedBench()
    let workspace = bench.workspace
    let folder = workspace.root.appending("from-second")
    let other = workspace.root.appending("other")
    try workspace.makeFolder(other)
    var sources: [JSONValue] = [other, folder].map { path in
      ["path": .string(path.description), "settle": "0ms", "mode": "move"]
    }
    if isShared, var object = sources[1].object {
      object["shared"] = "desk"
      sources[1] = .object(object)
    }
    try bench.add("second", [:], ["sources": .array(sources)])
    let recorder = try bench.startWatch()
    try bench.put(["a.txt", "b.txt"])
    try workspace.write([], to: "other/empty.txt")
    try bench.run(exit: 3)
    try workspace.remove("other/empty.txt")
    // While nobody answers, files are back, and that is not recorded.
    try bench.shared.stop(recorder)
    let undo = try workspace.program.start(["undo", "--json", "--config", "second.json"])
    try undo.wait(for: "its request") { try bench.shared.count("request") == 1 }
    #expect(try files(bench) == ["a.txt", "b.txt"])
    undo.signal(SIGKILL)
    #expect(try undo.wait(within: 30).signal == SIGKILL)
    try bench.shared.database.execute("DELETE FROM pipeline.request")
    // What a kill before the rename leaves.
    let journal = String(decoding: try workspace.read("second/returning"), as: UTF8.self)
    let taking = try #require(
      journal.firstMatch(of: /taking\\":\\"([0-9a-f-]+)/)?.output.1, "\(journal)")
    let copy = BytePath(".pipeline-return-\(taking)")
    try workspace.write(Array("half a".utf8), to: folder.appending(copy))
    recorder.signal(SIGCONT)
    // An import of what is named leaves all that alone; a run notes first that a file of the other source is gone.
    try workspace.write(Array("named".utf8), to: "named.txt")
    try workspace.json("import", "named.txt", "--config", "second.json")
    #expect(workspace.exists("second/returning"))
    try bench.shared.database.execute(
      "UPDATE pipeline.participant SET expires_at = clock_timestamp() WHERE verb = 'undo'")
    try bench.run()
    #expect(!workspace.exists("second/returning"))
    #expect(try files(bench) == ["a.txt", "b.txt"])
    #expect(try workspace.assets().map { $0["name"]?.string } == ["named.txt"])
    #expect(try bench.shared.count("sighting WHERE state = 'returned'") == 2)
    try bench.run()
    #expect(try files(bench) == ["a.txt", "b.txt"])
    // The last import of this machine is that by name, whose file has stayed.
    let named = try self.undo(bench)
    #expect(named.summary["returned"] == 1 && named.summary["left"] == 1)
    #expect(try workspace.assets() == [])
    try bench.end(recorder)
    try workspace.json("gc", "--yes")
    try bench.expectSound()
  }

  @Test("Files go back to a shared source by the machine that takes its files, and by no other")
  func sharedSource() throws {
    let bench = try JoinedBench()
    let folder = bench.workspace.root.appending("from-second")
    for machine in ["second", "third"] {
      try bench.add(machine, ["path": .string(folder.description), "shared": "desk"])
    }
    let recorder = try bench.startWatch()
    let watch = try bench.startJoined()
    try bench.put(["a.txt", "b.txt"])
    try bench.wait(forFiles: 2)
    let planned = try undo(bench, "--dry-run")
    #expect(planned.summary["wouldReturn"] == 2)
    let run = BytePath(try #require(planned.summary["run"]?.string))
    try bench.run("third")
    let refused = try undo(bench, run, on: "third", exit: 3)
    #expect(
      refused.files.count { $0["reason"]?.string?.contains("“second” takes files") == true } == 2)
    #expect(try files(bench) == [])
    #expect(try undo(bench, run).summary["returned"] == 2)
    // When the other one takes over, it leaves them alone.
    try bench.end(watch)
    try bench.run("third")
    #expect(try files(bench) == ["a.txt", "b.txt"])
    try bench.end(recorder)
    try bench.workspace.json("gc", "--yes")
    try bench.expectSound()
  }

  @Test("A file of a shared source that awaits its removal is not taken for a returned one")
  func awaitingRemoval() throws {
    let bench = try JoinedBench()
    try bench.add("second", ["shared": "desk"])
    let recorder = try bench.startWatch()
    try bench.put(["a.txt"])
    try bench.run()
    try bench.put(["a.txt"])
    // As if the machine that took it had not removed it yet.
    try bench.shared.database.execute("UPDATE pipeline.sighting SET awaits_removal = TRUE")
    let refused = try undo(bench, exit: 3)
    #expect(
      refused.files.count == 1
        && refused.files[0]["reason"]?.string?.contains("still to be removed") == true,
      "\(refused.files)")
    #expect(try bench.shared.count("asset") == 1)
    try bench.shared.database.execute("UPDATE pipeline.sighting SET awaits_removal = FALSE")
    #expect(try undo(bench).summary["left"] == 1)
    try bench.end(recorder)
    try bench.workspace.json("gc", "--yes")
    try bench.expectSound()
  }
}
