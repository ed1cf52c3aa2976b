import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Every verb, as text and as JSON, with its exit codes.
@Suite("Verbs", .timeLimit(.minutes(10)))
struct VerbTests {
  @Test("init makes a folder that run works with, and never writes over anything")
  func initialize() throws {
    let folder = try TemporaryFolder()
    var program = BuiltProgram(in: folder.path)
    let outcome = try program.run(["init", "a/b"])
    #expect(outcome.exitCode == 0 && outcome.output.contains("pipeline.json"))
    program.folder = folder.path.appending("a/b")
    #expect(try program.run(["config", "check"]).exitCode == 0)
    #expect(try program.run(["run"]).exitCode == 0)
    #expect(try program.run(["list"]).output == "")
    let configuration = URL(fileURLWithPath: "\(folder.path)/a/b/pipeline.json")
    let text = try String(contentsOf: configuration, encoding: .utf8)
    for words: [BytePath] in [["init"], ["init", "."], ["init", "--json"]] {
      let again = try program.run(words)
      #expect(again.exitCode == 1 && (again.errors + again.output).contains("already"))
    }
    try FileManager.default.removeItem(at: configuration)
    #expect(try program.run(["init"]).exitCode == 1)
    #expect(!FileManager.default.fileExists(atPath: configuration.path))
    try Data(text.utf8).write(to: configuration)
    let json = try program.run(["init", "../c", "--json"]).event("initialized")
    #expect(json["path"]?.string == "\(folder.path)/a/c")
    #expect(json["configuration"]?.string == "\(folder.path)/a/c/pipeline.json")
  }

  @Test("list, show, get, status, explain and plugins tell of one picture, both ways")
  func readers() throws {
    let workspace = try Workspace()
    let picture = try Pictures.jpeg(width: 300, height: 200)
    try workspace.put(picture, as: "a picture.jpg")
    try workspace.json("run")
    let asset = try #require(try workspace.assets().first)
    let text = try #require(asset["id"]?.string)
    let id = BytePath(text)
    for key in ["digest", "importedAt", "source", "mediaType", "state"] {
      #expect(asset[key]?.string != nil, "\(key)")
    }
    #expect(asset["size"]?.integer == picture.count && asset["mediaType"] == "image/jpeg")
    #expect(asset["width"] == 300 && asset["height"] == 200 && asset["state"] == "done")
    #expect(try workspace.run("list").output.contains("a picture.jpg"))
    // By prefix and by suffix.
    for part in [text, String(text.prefix(13)), String(text.suffix(8))] {
      let shown = try workspace.json("show", BytePath(part)).first
      #expect(shown?["id"]?.string == text)
      #expect(shown?["sightings"]?.array?.count == 1 && shown?["jobs"]?.array?.count == 2)
      #expect(shown?["facts"]?["identify"]?["width"] == 300)
    }
    #expect(try workspace.run("show", id).output.contains("sha-256"))
    #expect(try workspace.run("get", id).outputBytes == picture)
    #expect(try workspace.run("get", id, "-o", "copy.jpg").output == "")
    #expect(try workspace.read("copy.jpg") == picture)
    #expect(try workspace.run("get", id, "--output=copy.jpg").exitCode == 1)
    #expect(try workspace.run("get", id, "--rendition", "thumbnails/grid", "-o", "g").exitCode == 0)
    #expect(try PicturesReading(workspace.read("g")).width == 64)
    let unknown = try workspace.run("get", id, "--rendition", "huge", "--json")
    #expect(unknown.exitCode == 2)
    #expect(try unknown.event("error")["message"]?.string?.contains("grid") == true)
    let status = try #require(try workspace.json("status").first)
    #expect(status["assets"] == 1 && status["originals"] == 1 && status["renditions"] == 2)
    #expect(status["originalBytes"]?.integer == picture.count)
    #expect(status["jobs"]?["thumbnails"]?["done"] == 1 && status["paths"]?["imported"] == 1)
    #expect(status["failures"] == 0 && status["lastRun"]?["imported"] == 1)
    #expect(try workspace.run("status").output.contains("assets      1"))
    let explained = try workspace.json("explain", "inbox/a picture.jpg")
    #expect(explained.of("path").first?["asset"] == asset["id"])
    #expect(try workspace.run("explain", id).output.contains("thumbnails is done"))
    #expect(try workspace.run("explain", "inbox/never.jpg").exitCode == 0)
    let plugins = try workspace.json("plugins")
    let found = Set(plugins.compactMap { $0["id"]?.string })
    #expect(found.isSuperset(of: ["identify", "thumbnail"]))
    #expect(plugins.allSatisfy { $0["usable"] == true && $0["path"]?.string != nil })
    #expect(try workspace.run("plugins", "thumbnail").output.contains("maxPixelSize"))
    #expect(try workspace.run("plugins", "thumbnail").output.contains("runs     in a worker"))
    #expect(try workspace.run("failed").output == "")
    let verified = try workspace.json("verify").summary
    #expect(verified["checked"] == 3 && verified["problems"] == 0 && verified["repaired"] == 0)
  }

  @Test("explain says of every path what became of it, and why")
  func explain() throws {
    let workspace = try Workspace(sources: [["path": "inbox", "settle": "0ms", "mode": "copy"]])
    for (name, text) in [
      ("imported", "one"), ("later a duplicate", "one"), ("gone", "two"), ("rejected", ""),
      ("ignored.part", "three"),
    ] {
      try workspace.put(text, as: BytePath(name))
    }
    try workspace.json("run", exit: 3)
    #expect(unlink(workspace.inbox.appending("gone").description) == 0)
    try workspace.json("run")
    try workspace.put("four", as: "unseen")
    for (name, state) in [
      ("imported", "imported"), ("later a duplicate", "duplicate"), ("gone", "gone"),
      ("rejected", "rejected"), ("ignored.part", "ignored"), ("unseen", "unseen"),
      ("nowhere", "unseen"),
    ] {
      let path = BytePath("inbox/\(name)")
      let told = try #require(try workspace.json("explain", path).of("path").first)
      #expect(told["state"]?.string == state)
      #expect(told["path"]?.string == "\(workspace.inbox)/\(name)")
      #expect((told["reason"]?.string?.isEmpty == false) || state == "imported", "\(name)")
      let hasAsset = ["imported", "duplicate", "gone"].contains(state)
      #expect((told["asset"]?.string != nil) == hasAsset, "\(name)")
      #expect(try workspace.run("explain", path).output.contains("\(name) is \(state)"))
    }
    let outside = try #require(try workspace.json("explain", "/etc/hosts").of("path").first)
    #expect(outside["reason"]?.string?.contains("import") == true)
  }

  @Test(
    "Paths of moved files are told of, taken again and undone without rows, in an older catalog too",
    .about(.catalogFile))
  func movedPaths() throws {
    let workspace = try Workspace(stages: [])
    for name in ["a", "b", "c"] { try workspace.put(name, as: BytePath(name)) }
    let first = try #require(try workspace.json("run").summary["run"]?.string)
    let rows = "SELECT count(*) FROM sighting"
    #expect(try workspace.query(rows) == ["0"])
    let asset = try workspace.asset(named: "a")["id"]?.string
    func told() throws -> [JSONValue] {
      try ["a", "b", "c"].flatMap { try workspace.json("explain", BytePath("inbox/\($0)")) }
        + workspace.json("show", BytePath(try #require(asset)))
        + [workspace.json("status").first?["paths"] ?? .null]
    }
    let before = try told()
    let words = try workspace.run("explain", "inbox/a").output
    #expect(words.contains("a is imported\n  Nothing: its bytes are in the library. A new file"))
    // As version 3 left it.
    try workspace.makeCatalogOlder(
      """
      DROP INDEX asset_origin; CREATE INDEX asset_source ON asset (source); PRAGMA user_version = 3;
      DROP VIEW failures; DROP VIEW jobs; ALTER TABLE stage DROP COLUMN held;
      INSERT INTO sighting (source, path, state, asset, seen_at)
      SELECT source, path, 'imported', id, imported_at FROM asset
      """)
    #expect(try workspace.query(rows) == ["3"])
    #expect(try workspace.json("run").of("file") == [])
    #expect(try workspace.query(rows) == ["0"])
    #expect(try told() == before)
    try workspace.put("new", as: "a")
    try workspace.put("b", as: "b")
    let events = try workspace.json("run")
    #expect(events.outcome("a") == "imported" && events.outcome("b") == "duplicate")
    #expect(try workspace.assets().count == 4)
    #expect(try workspace.json("status").first?["paths"]?["imported"] == 2)
    try workspace.json("undo", BytePath(try #require(events.summary["run"]?.string)))
    #expect(rename("\(workspace.inbox)/a", "\(workspace.inbox)/new") == 0)
    // A later run let the file “b” go for the sake of the asset, which stays.
    let undone = try workspace.json("undo", BytePath(first), exit: 3)
    #expect(undone.of("undone").first?["returned"] == 2)
    #expect(try workspace.read("inbox/a") == Array("a".utf8))
    #expect(try workspace.read("inbox/c") == Array("c".utf8))
    try workspace.expectSound()
  }

  @Test("import copies files and folders, wherever they are, and leaves them")
  func imports() throws {
    let workspace = try Workspace()
    let album = workspace.root.appending("album")
    try workspace.makeFolder(album)
    try workspace.makeFolder(album.appending("deeper"))
    try workspace.put("one", as: "one.txt", in: album)
    try workspace.put("two", as: "deeper/two.txt", in: album)
    try workspace.put("part", as: "three.part", in: album)
    try workspace.put("dash", as: "-rf", in: workspace.root)
    try workspace.put("not asked for", as: "inbox.txt")
    let events = try workspace.json("import", "album")
    workspace.expectCountersAddUp(events)
    #expect(events.summary["imported"] == 2 && events.summary["ignored"] == 1)
    #expect(try workspace.run("import", "--", "-rf").exitCode == 0)
    #expect(try workspace.json("import", "album", "./-rf").summary["imported"] == 0)
    #expect(try workspace.assets().count == 3)
    #expect(workspace.exists("album/one.txt") && workspace.exists("-rf"))
    #expect(try workspace.files(below: "inbox") == ["inbox.txt"])
    let missing = try workspace.json("import", "nowhere.txt", "inbox/inbox.txt", exit: 3)
    #expect(missing.outcome("nowhere.txt") == "failed")
    #expect(missing.outcome("inbox.txt") == "imported" && workspace.exists("inbox/inbox.txt"))
    #expect(try workspace.run("import").exitCode == 2)
    try workspace.expectSound()
  }

  @Test("A dry run changes nothing and makes nothing")
  func dryRun() throws {
    let workspace = try Workspace()
    try workspace.put("text", as: "a.txt")
    #expect(try workspace.run("run", "--dry-run").exitCode == 0)
    #expect(!workspace.exists("library") && workspace.exists("inbox/a.txt"))
    try workspace.json("run")
    try workspace.put("more", as: "b.txt")
    let before = try workspace.state()
    #expect(try workspace.run("run", "-n", "--json").output.contains("b.txt"))
    #expect(try workspace.state() == before)
    try workspace.json("run")
    try workspace.expectSound()
  }

  @Test("A library that nothing was put into yet is no damaged one")
  func newLibrary() throws {
    let workspace = try Workspace()
    let folder = workspace.root.appending("new")
    #expect(try workspace.run("init", folder).exitCode == 0)
    let configuration = folder.appending("pipeline.json")
    for verb in ["list", "status"] {
      let outcome = try workspace.run("--config", configuration, BytePath(verb))
      #expect(outcome.exitCode == 1)
      #expect(outcome.errors.contains("is new and still empty"))
      #expect(!outcome.errors.contains("rebuild"))
    }
    #expect(try workspace.run("--config", configuration, "plan").exitCode == 0)
    #expect(try workspace.run("--config", configuration, "run").exitCode == 0)
    #expect(try workspace.run("--config", configuration, "status").exitCode == 0)
  }

  @Test("A plan counts files and jobs, and knows their cost once there is history")
  func plan() throws {
    let workspace = try Workspace()
    let picture = try Pictures.jpeg(width: 300, height: 200)
    try workspace.put(picture, as: "a.jpg")
    let first = try #require(try workspace.json("plan").of("plan").first)
    #expect(first["files"] == 1 && first["jobs"] == 2 && first["bytes"]?.integer == picture.count)
    #expect(first["seconds"] == .null && first["renditionBytes"] == .null)
    try workspace.json("run")
    let done = try #require(try workspace.json("plan").of("plan").first)
    #expect(done["files"] == 0 && done["jobs"] == 0 && done["seconds"] == 0)
    try workspace.put(picture + [0], as: "b.jpg")
    let second = try #require(try workspace.json("plan").of("plan").first)
    #expect(second["jobs"] == 2)
    #expect(try #require(second["seconds"]?.double) > 0)
    let made = try workspace.asset(named: "a.jpg")["renditions"]?.array ?? []
    let bytes = made.reduce(0) { $0 + ($1["bytes"]?.integer ?? 0) }
    #expect(second["renditionBytes"]?.integer == bytes)
    // Another size is work for all pictures, whether the ledger knows of it yet or not.
    try workspace.configure(stages: Workspace.stages(sizes: ["grid": 96]))
    #expect(try workspace.json("plan").of("plan").first?["jobs"] == 3)
    #expect(try workspace.run("plan", "-q").output.hasPrefix("1 file "))
    try workspace.json("run")
    try workspace.expectSound()
  }

  @Test(
    "What can't be understood ends with 2 and says where help is",
    arguments: [
      [], ["runn"], ["run", "--jsn"], ["run", "extra"], ["show"], ["show", "zzzz"], ["get"],
      ["retry"], ["retry", "--all", "0197"], ["run", "--wait"], ["run", "--wait", "soon"],
      ["config"], ["config", "shew"], ["--config", "nowhere.json", "run"], ["list", "--all"],
    ])
  func usage(words: [String]) throws {
    let workspace = try Workspace()
    try workspace.json("run")
    let text = try workspace.program.run(words.map { BytePath($0) })
    #expect(text.exitCode == 2 && text.output == "" && text.errors != "", "\(text.errors)")
    guard !words.isEmpty else { return }
    let json = try workspace.program.run(words.map { BytePath($0) } + ["--json"])
    guard words != ["run", "--wait"] else { return }
    #expect(json.exitCode == 2)
    #expect(try json.events("error").count == 1, "\(json.output)\(json.errors)")
  }

  @Test("plugins says where each one runs, and what stages allow it")
  func permissions() throws {
    let workspace = try Workspace()
    #expect(try workspace.run("plugins", "new", "colour", "--language", "python").exitCode == 0)
    try workspace.configure(stages: [
      ["name": "identify", "plugin": "identify", "isolation": "none"],
      [
        "name": "own", "plugin": "colour", "command": ["colour/colour.py"],
        "allow": ["network": true, "read": ["/etc"]],
      ],
    ])
    let events = try workspace.json("plugins")
    let colour = try #require(events.first { $0["id"] == "colour" })
    #expect(colour["usable"] == true && colour["isolation"] == "process")
    #expect(colour["stage"] == "own" && colour["allow"]?["network"] == true)
    #expect(colour["allow"]?["exec"] == false && colour["allow"]?["read"] == ["/etc"])
    #expect(events.first { $0["id"] == "identify" }?["isolation"] == "none")
    let lines = try workspace.run("plugins").output.split(separator: "\n")
    let own = try #require(lines.first { $0.hasPrefix("colour\t") })
    for words in ["colour/colour.py", "in a worker", "use the network", "read /etc"] {
      #expect(own.contains(words))
    }
    #expect(lines.first { $0.hasPrefix("identify\t") }?.contains("in the program itself") == true)
  }

  @Test(
    "Who starts a worker by hand is told what it is, with 2",
    arguments: [[], ["nonsense"], ["{}"], ["--help"], ["a", "b"]] as [[BytePath]])
  func worker(words: [BytePath]) throws {
    let outcome = try BuiltProgram(in: "/").run(["worker"] + words)
    #expect(outcome.exitCode == 2 && outcome.output.isEmpty)
    #expect(outcome.errors.contains("by hand") && !outcome.errors.contains("Error"))
  }

  @Test("The program and every verb that it lists have help, and make nothing")
  func help() throws {
    let workspace = try Workspace()
    let overview = try workspace.run("--help")
    #expect(overview.exitCode == 0 && overview.errors == "")
    let list = try #require(overview.output.firstRange(of: "\nVerbs:\n")).upperBound
    let verbs = overview.output[list...].split(separator: "\n", omittingEmptySubsequences: false)
      .prefix { $0 != "" }.compactMap { $0.split(separator: " ").first }
    #expect(verbs.count > 20 && verbs.contains("watch") && verbs.contains("help"))
    for verb in verbs {
      let help = try workspace.run(BytePath(String(verb)), "--help")
      #expect(help.exitCode == 0 && help.output.contains("Examples:\n  pipeline \(verb)"))
    }
    #expect(try workspace.run("--version").output.hasPrefix("pipeline "))
    #expect(!workspace.exists("library"))
  }
}
