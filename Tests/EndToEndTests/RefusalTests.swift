import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// What the program does not touch, and how it says so.
@Suite("Refusals", .timeLimit(.minutes(5)))
struct RefusalTests {
  private static let copied: JSONValue = [
    ["path": "disk/photos", "settle": "0ms", "mode": "copy"]
  ]

  /// The codes of the errors in what was printed.
  private func errors(_ outcome: BuiltProgramOutcome) throws -> [String] {
    try outcome.events().of("error").compactMap { $0["code"]?.string }
  }

  // MARK: Disks that are not mounted

  @Test(
    "A source deep in a disk that is not mounted now is refused, and nothing is gone",
    .enabled(if: Namespace.isPossible, Namespace.reason))
  func unmountedSource() throws {
    let workspace = try Workspace(sources: Self.copied)
    let outcome = try Namespace.run(
      """
      mkdir disk away; mount -t tmpfs none disk; mkdir disk/photos
      echo one > disk/photos/a.txt; echo two > disk/photos/b.txt
      "$1" run --json
      mount --move disk away; mkdir disk/photos
      code=0; "$1" run --json || code=$?; [ $code = 1 ]
      echo three > disk/photos/c.txt
      code=0; "$1" run --json || code=$?; [ $code = 1 ]
      "$1" explain --json disk/photos/a.txt
      mount --move away disk
      "$1" run --json
      """, in: workspace)
    try #require(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
    let events = try outcome.events()
    #expect(try errors(outcome) == ["source", "source"])
    #expect(
      events.of("error").allSatisfy { $0["message"]?.string?.contains("mounted at") == true })
    #expect(events.of("file").map { $0["outcome"]?.string } == ["imported", "imported"])
    #expect(events.of("path").first?["state"] == "imported")
    #expect(try workspace.assets().count == 2)
    try workspace.expectSound()
  }

  @Test(
    "Below a mount point of /etc/fstab without its disk no source is read and no library made",
    .enabled(
      if: Namespace.isPossible && FileManager.default.fileExists(atPath: "/etc/fstab"),
      "Mounts of one's own are not allowed here, or there is no /etc/fstab to mount over."))
  func table() throws {
    let workspace = try Workspace(sources: Self.copied)
    let line = "UUID=1-2 \(workspace.root.printable)/disk ext4 nofail 0 2\n"
    try workspace.write(Array(line.utf8), to: "fstab")
    let source = try Namespace.run(
      """
      mount --bind fstab /etc/fstab
      mkdir -p disk/photos; echo one > disk/photos/a.txt
      code=0; "$1" run --json || code=$?; [ $code = 1 ]
      mkdir other; mount -t tmpfs none disk; mkdir disk/photos; echo two > disk/photos/b.txt
      "$1" run --json
      """, in: workspace)
    try #require(source.exitCode == 0, "\(source.output)\(source.errors)")
    #expect(try errors(source) == ["source"])
    let events = try source.events()
    #expect(events.of("error").first?["message"]?.string?.contains("/etc/fstab") == true)
    #expect(events.outcome("a.txt") == nil && events.outcome("b.txt") == "imported")
    // A library is what it would be worst to make in the wrong place.
    try workspace.configure(["library": "disk/library"])
    try workspace.put("precious", as: "c.txt")
    let library = try Namespace.run(
      """
      mount --bind fstab /etc/fstab
      code=0; "$1" run --json || code=$?; [ $code = 1 ]
      """, in: workspace)
    try #require(library.exitCode == 0, "\(library.output)\(library.errors)")
    #expect(library.output.contains("/etc/fstab") && library.output.contains("none is made"))
    #expect(try library.events().count == 1)
    #expect(try workspace.files(below: "disk") == ["photos/a.txt"])
    #expect(try workspace.files(below: "inbox") == ["c.txt"])
  }

  // MARK: Libraries that can't be written

  @Test(
    "A library on a read-only file system: one error, sources untouched, and readers work",
    .enabled(if: Namespace.isPossible, Namespace.reason))
  func readOnly() throws {
    let workspace = try Workspace()
    try workspace.put("one", as: "a.txt")
    try workspace.json("run")
    try workspace.put("two", as: "b.txt")
    let before = try Content(of: workspace)
    let outcome = try Namespace.run(
      """
      mount --bind library library; mount -o remount,bind,ro library
      code=0; "$1" run --json || code=$?; [ $code = 1 ]
      code=0; "$1" import --json inbox/b.txt || code=$?; [ $code = 1 ]
      "$1" list > list; "$1" status > status; "$1" explain inbox/a.txt > explain
      """, in: workspace)
    try #require(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
    let events = try outcome.events()
    #expect(events.count == 2 && events.of("error").count == 2 && outcome.errors == "")
    for event in events {
      let message = try #require(event["message"]?.string)
      #expect(message.contains(workspace.library.description) && message.contains("ead-only"))
    }
    #expect(try Content(of: workspace) == before)
    #expect(try workspace.read("list").count > 0)
    try workspace.json("run")
    try workspace.expectSound()
  }

  @Test(
    "Where no library can be made, one error says so, and nothing is half made",
    .enabled(if: Namespace.isPossible, Namespace.reason))
  func readOnlyParent() throws {
    let workspace = try Workspace(["library": "place/library"])
    try workspace.put("one", as: "a.txt")
    let outcome = try Namespace.run(
      """
      mkdir place; mount --bind place place; mount -o remount,bind,ro place
      code=0; "$1" run --json || code=$?; [ $code = 1 ]
      [ -z "$(ls -A place)" ]
      """, in: workspace)
    try #require(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
    #expect(try outcome.events().count == 1 && errors(outcome).count == 1)
    #expect(try workspace.files(below: "inbox") == ["a.txt"])
  }

  // MARK: No space

  @Test(
    "A disk that fills up: what was taken is whole, one error, the rest stays and goes on later",
    .enabled(if: Namespace.isPossible, Namespace.reason), arguments: ["move", "copy"])
  func fullDisk(mode: String) throws {
    let workspace = try Workspace()
    let configuration: JSONValue = [
      "library": "library", "reserve": "8MiB", "stages": [],
      "sources": [
        [
          "path": .string(workspace.inbox.description), "settle": "0ms", "mode": .string(mode),
        ]
      ],
    ]
    try workspace.write(
      Array(JSONText.encodePretty(configuration).utf8), to: "full.json")
    for index in 0..<120 {
      let bytes = [UInt8]("\(index) ".utf8) + [UInt8](repeating: 7, count: 200_000)
      try workspace.put(bytes, as: BytePath("\(index)"))
    }
    let outcome = try Namespace.run(
      """
      mkdir disk; mount -t tmpfs -o size=24m none disk; cp full.json disk/pipeline.json
      code=0; "$1" run --json --config disk/pipeline.json > first || code=$?; [ $code = 1 ]
      ls inbox > left; ls -A disk/library/incoming > incoming
      "$1" verify --json --config disk/pipeline.json > verify
      code=0; "$1" run --json --config disk/pipeline.json > second || code=$?; [ $code = 1 ]
      mount -o remount,size=64m disk
      "$1" run --json --config disk/pipeline.json > third
      "$1" verify --json --config disk/pipeline.json
      """, in: workspace)
    try #require(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
    func events(_ file: BytePath) throws -> [JSONValue] {
      try String(decoding: workspace.read(file), as: UTF8.self).split(separator: "\n").map {
        try JSONText.decode(JSONValue.self, from: Array($0.utf8))
      }
    }
    let first = try events("first")
    let imported = try #require(first.summary["imported"]?.integer)
    #expect(imported > 8 && imported < 120)
    // Nothing but successes, and one error that names the place and both figures.
    #expect(first.of("file").count == imported && first.summary["failed"] == 0)
    let error = try #require(first.of("error").first)
    #expect(first.of("error").count == 1 && error["code"] == "noSpace")
    #expect(error["message"]?.string?.contains("8 MiB") == true, "\(error)")
    #expect(error["message"]?.string?.contains("/disk/library") == true)
    let left = try workspace.read("left").split(separator: UInt8(ascii: "\n")).count
    #expect(left == (mode == "move" ? 120 - imported : 120))
    #expect(try workspace.read("incoming").isEmpty)
    #expect(try events("verify").summary["problems"] == 0)
    let second = try events("second")
    // The end of the first run frees the catalog's log, which may be room for a file.
    let more = second.of("file").count
    #expect(second.of("error").count == 1 && more <= 2)
    #expect(second.summary["imported"]?.integer == more)
    #expect(try events("third").summary["imported"]?.integer == 120 - imported - more)
    #expect(try outcome.events().summary["problems"] == 0)
  }

  @Test(
    "While there is no room a watch waits, without a hot loop, and goes on when there is some",
    .enabled(if: Namespace.isPossible, Namespace.reason))
  func watchOnFullDisk() throws {
    let workspace = try Workspace()
    let configuration: JSONValue = [
      "library": "library", "reserve": "8MiB", "stages": [],
      "sources": [
        ["path": .string(workspace.inbox.description), "settle": "0ms", "mode": "move"]
      ],
    ]
    try workspace.write(
      Array(JSONText.encodePretty(configuration).utf8), to: "full.json")
    let outcome = try Namespace.run(
      """
      mkdir disk; mount -t tmpfs -o size=24m none disk; cp full.json disk/pipeline.json
      head -c 18M /dev/zero > disk/filler
      "$1" watch --json --config disk/pipeline.json > events & watch=$!
      await() { for i in $(seq 300); do grep -q "$1" events && return; sleep 0.1; done; return 9; }
      await watched; echo hello > inbox/a.txt; await full
      ticks() { awk '{ print $14 + $15 }' /proc/$watch/stat; }
      before=$(ticks); sleep 4; after=$(ticks); [ $((after - before)) -lt 20 ]
      [ "$(cat inbox/a.txt)" = hello ]; if grep '"outcome":"imported"' events; then exit 8; fi
      rm disk/filler; await hasRoom; await '"outcome":"imported"'; [ ! -e inbox/a.txt ]
      kill -TERM $watch; code=0; wait $watch || code=$?; [ $code = 143 ]
      """, in: workspace)
    #expect(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
    let text = String(decoding: try workspace.read("events"), as: UTF8.self)
    #expect(text.split(separator: "\n").count { $0.contains("\"full\"") } == 1, "\(text)")
  }

  // MARK: Missing files

  @Test("A run that would drop most of a source asks first, and believes what it is told")
  func missing() throws {
    let workspace = try Workspace(sources: [
      ["path": "inbox", "settle": "0ms", "mode": "copy"]
    ])
    for index in 0..<30 { try workspace.put("file \(index)", as: BytePath("\(index)")) }
    try workspace.json("run")
    for index in 0..<25 { unlink(workspace.inbox.appending("\(index)").description) }
    try workspace.put("new", as: "new.txt")
    let events = try workspace.json("run", exit: 1)
    let error = try #require(events.of("error").first)
    #expect(events.of("error").count == 1 && error["code"] == "source")
    #expect(error["message"]?.string?.contains("25 of 30 known files") == true)
    #expect(events.of("file").count == 1 && events.outcome("new.txt") == "imported")
    #expect(try workspace.json("explain", "inbox/3").of("path").first?["state"] == "imported")
    let accepted = try workspace.json("run", "--accept-missing")
    #expect(accepted.summary["gone"] == 25)
    workspace.expectCountersAddUp(accepted)
    #expect(try workspace.json("run").of("file") == [])
    #expect(try workspace.assets().count == 31)
    try workspace.expectSound()
  }

  @Test(
    "On a terminal it asks, and only a yes is one",
    .enabled(
      if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script"),
      "script(1), which gives a program a terminal, is not here."))
  func question() throws {
    let workspace = try Workspace(sources: [
      ["path": "inbox", "settle": "0ms", "mode": "copy"]
    ])
    for index in 0..<25 { try workspace.put("file \(index)", as: BytePath("\(index)")) }
    try workspace.json("run")
    for index in 0..<25 { unlink(workspace.inbox.appending("\(index)").description) }
    var program = workspace.program
    for (answer, code) in [("", 1), ("n", 1), ("quite", 1), ("y", 0)] as [(String, Int32)] {
      program.prefix = [
        "/bin/sh", "-c",
        "printf '%s\\n' '\(answer)' | TERM=xterm script -qefc \"'$1' run\" /dev/null", "sh",
      ]
      let outcome = try program.run([])
      #expect(outcome.exitCode == code, "“\(answer)”: \(outcome.output)")
      #expect(outcome.output.contains("25 of 25 known files"))
      #expect(outcome.output.contains("Record them as gone? [y/N]"))
      let state = try workspace.json("explain", "inbox/3").of("path").first?["state"]
      #expect(state == (code == 0 ? "gone" : "imported"))
    }
  }

  // MARK: Newer versions

  @Test(
    "What a newer version made is refused with one error, and nothing is written",
    arguments: ["library", "catalog", "manifest"])
  func newer(part: String) throws {
    let workspace = try Workspace()
    try workspace.put("one", as: "a.txt")
    try workspace.json("run")
    switch part {
    case "library":
      let text = String(decoding: try workspace.read("library/library.json"), as: UTF8.self)
      try workspace.write(
        Array(text.replacing(#/"format"\s*:\s*\d+/#, with: "\"format\": 99").utf8),
        to: "library/library.json")
    case "catalog":
      let sql =
        workspace.database == nil
        ? "sqlite3 library/catalog.sqlite 'PRAGMA user_version = 99'"
        : "psql -Xq '\(workspace.database?.uri ?? "")' -c 'UPDATE pipeline.schema_version SET version = 99'"
      try Unprivileged.shell(sql, in: workspace)
    default:
      // A fact of a kind that this version does not know, otherwise as it has to be.
      try Unprivileged.shell(
        """
        cd library/manifest; last=$(tail -n 1 0001.jsonl)
        seq=$(printf '%s' "$last" | sed 's/.*"seq":\\([0-9]*\\).*/\\1/')
        taking=$(printf '%s' "$last" | sed 's/.*\\("taking":"[^"]*"\\).*/\\1/')
        line="{\\"fact\\":\\"teleported\\",\\"seq\\":$((seq + 1)),$taking,\\"time\\":1"
        check=$(printf '%s' "$line" | sha256sum | cut -c 1-16)
        printf '%s,"check":"%s"}\\n' "$line" "$check" >> 0001.jsonl
        """, in: workspace)
    }
    try workspace.put("two", as: "b.txt")
    let before = try Content(of: workspace)
    for words: [BytePath] in [["run"], ["import", "inbox/b.txt"]] {
      let outcome = try workspace.program.run(words + ["--json"])
      #expect(outcome.exitCode == 1 && outcome.errors == "", "\(words[0]): \(outcome.errors)")
      let events = try outcome.events()
      #expect(events.count == 1 && events.first?["code"] == "newerVersion", "\(events)")
      #expect(try Content(of: workspace) == before, "\(words[0])")
    }
  }
}

/// Every file of a workspace's library and inbox, with its bytes.
///
/// Not the lock, which says what process had it last, nor what SQLite needs for reading: the
/// shared memory, and a log without anything in it.
private struct Content: Equatable {
  private var files: [BytePath: [UInt8]] = [:]

  init(of workspace: Workspace) throws {
    for folder in ["library", "inbox"] as [BytePath] {
      for path in try workspace.files(below: folder) {
        let whole = folder.appending(path)
        let bytes = try workspace.read(whole)
        if whole == "library/lock" || whole == "library/catalog.sqlite-shm" { continue }
        if whole == "library/catalog.sqlite-wal", bytes.isEmpty { continue }
        files[whole] = bytes
      }
    }
  }
}
