import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// `list` and `count` with queries, as built.
@Suite("Finding assets", .timeLimit(.minutes(5)))
struct AssetSearchTests {
  private func names(_ workspace: Workspace, _ words: String...) throws -> [String] {
    let arguments = words.map { BytePath($0) }
    let outcome = try workspace.program.run([BytePath("list")] + arguments + ["--fields", "name"])
    try #require(outcome.exitCode == 0, "\(words): \(outcome.errors)")
    return outcome.output.split(separator: "\n").map(String.init)
  }

  /// A library of text files: `0.txt` with no byte more than `1.txt`, and so on.
  private func texts(_ count: Int) throws -> Workspace {
    let workspace = try Workspace(stages: [["name": "identify", "plugin": "identify"]])
    for index in 0..<count {
      // Sizes in another order than names and imports.
      try workspace.put(
        String(repeating: "x", count: (index * 7) % count + 1) + "\(index)",
        as: BytePath("\(index).txt"))
    }
    try workspace.json("run")
    return workspace
  }

  #if METADATA
    @Test("Camera, place, time and type are found by the words of a query")
    func metadata() throws {
      let workspace = try Workspace(stages: [
        ["name": "identify", "plugin": "identify"], ["name": "metadata", "plugin": "metadata"],
      ])
      try workspace.put(try Pictures.jpeg(width: 30, height: 20), as: "Caf\u{e9}.jpg")
      try workspace.put("no picture", as: "notes.txt")
      try workspace.json("run")
      let picture = ["Caf\u{e9}.jpg"]
      let camera = PicturesExif.camera.uppercased()
      for query in [
        "camera:\"\(camera)\"", "camera=\"\(PicturesExif.camera) Model F\"", "taken:2024-05",
        "taken:2024-05-06..2024-05-06", "near:48.8584,2.2945,1km", "kind:image", "name:cafe",
        "cafe", "is:landscape width:30", "has:gps", "-name:notes",
        "(taken:2023 or taken:2024) -tag:private",
      ] {
        #expect(try names(workspace, query) == picture, "\(query)")
        let whole = try workspace.json("list", BytePath(query))
        #expect(try whole == [workspace.asset(named: picture[0])], "\(query)")
        #expect(try workspace.json("count", BytePath(query)).first?["assets"] == 1)
      }
      for query in ["camera=\"\(camera)\"", "taken>2024-05-06", "near:0,0,1km", "kind:video"] {
        #expect(try names(workspace, query) == [], "\(query)")
      }
      #expect(try names(workspace, "-taken:2024", "kind:document") == ["notes.txt"])
      let groups = try workspace.json("count", "--group-by", "month").of("group")
      #expect(groups.map { $0["month"] } == ["2024-05", .null])
      #expect(groups.map { $0["assets"] } == [1, 1])
    }
  #endif

  @Test("--explain says what a query means and how it is answered")
  func explain() throws {
    let workspace = try texts(2)
    let outcome = try workspace.run(
      "list", "--explain", "name:'1 or -iso>=400 size>1kB", "--sort", "-taken", "--limit", "7")
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    for part in [
      "one of\n  name contains “'1”", "all of\n    not\n      iso >= 400\n    size > 1000",
      "instr(", "= '''1'\n", "LIMIT ?", "= 7\n",
      TestServers.areAsked ? "Scan on picture" : "SCAN picture",
    ] { #expect(outcome.output.contains(part), "\(part) in \(outcome.output)") }
    let event = try #require(try workspace.json("list", "--explain", "is:failed").first)
    #expect(event["event"] == "explanation" && event["filter"] == ["a job failed"])
    #expect(event["statements"]?.array?.count == 1)
    #expect(try workspace.run("list", "--explain").output.contains("order of import"))
    let grouped = try workspace.run("list", "--explain", "--group-by", "day")
    #expect(grouped.exitCode == 2 && grouped.errors.contains("--group-by"))
  }

  @Test("Nothing found for want of metadata is explained, and nothing else is")
  func unknown() throws {
    let workspace = try texts(1)
    for verb in ["list", "count"] {
      let outcome = try workspace.run(BytePath(verb), "camera:fuji")
      #expect(outcome.exitCode == 0 && outcome.errors.contains("the plugin `metadata`"), "\(verb)")
      #expect(try workspace.run(BytePath(verb), "name:nothing").errors == "")
      #expect(try workspace.run(BytePath(verb), "-camera:fuji").errors == "")
    }
  }

  @Test("A search that is saved is used by name, and survives a new catalog")
  func saved() throws {
    let workspace = try texts(3)
    let saved = try workspace.json("search", "save", "low", "name:0", "or", "name:1").of("saved")
    #expect(saved.first?["query"] == "name:0 or name:1")
    #expect(try names(workspace, "@low") == ["0.txt", "1.txt"])
    #expect(try names(workspace, "-@low") == ["2.txt"])
    try workspace.json("search", "save", "@lowest", "@low -name:1")
    try workspace.json("rebuild-catalog")
    #expect(try names(workspace, "@lowest") == ["0.txt"])
    #expect(
      try workspace.run("search", "list").output
        == "@low\tname:0 or name:1\n@lowest\t@low -name:1\n")
    #expect(try workspace.json("verify").of("problem") == [])
    // What can't be understood is not saved, nor what would use itself.
    for words in [
      ["save", "x", "nme:y"], ["save", "low", "@lowest"], ["save", "a b", "x"], ["save", "x"],
    ] {
      let outcome = try workspace.program.run(["search"] + words.map { BytePath($0) })
      #expect(outcome.exitCode == 2, "\(words): \(outcome.errors)")
    }
    try workspace.json("search", "remove", "@low")
    let missing = try workspace.run("list", "@lowest")
    #expect(missing.exitCode == 2 && missing.errors.contains("no saved search “low”"))
    #expect(try workspace.run("search", "remove", "low").exitCode == 2)
    try workspace.write(Array("{".utf8), to: "library/searches.json")
    let broken = try workspace.run("list", "@lowest")
    #expect(broken.exitCode == 1 && broken.errors.contains("searches.json"), "\(broken.errors)")
    #expect(try workspace.run("list", "name:0").exitCode == 0)
  }

  @Test("rm and retry take queries; what looks like an ID is one")
  func changes() throws {
    let workspace = try texts(3)
    let told = try workspace.run("rm", "name:1", "--dry-run").output
    #expect(told.contains("1 asset would be put"), "\(told)")
    #expect(try workspace.json("rm", "name:1", "or", "name:2").first?["assets"] == 2)
    #expect(try names(workspace, "is:trashed") == ["1.txt", "2.txt"])
    // Those in the trash are not counted again.
    #expect(try workspace.json("rm", "kind:document").first?["assets"] == 1)
    #expect(try workspace.json("retry", "kind:document").first?["jobs"] == 0)
    #expect(try workspace.json("trash", "restore", "name:2").first?["assets"] == 1)
    #expect(try names(workspace, "is:trashed") == ["0.txt", "1.txt"])
    #expect(try workspace.json("trash", "restore", "-name:2").first?["assets"] == 2)
    #expect(try workspace.run("trash", "restore", "").exitCode == 2)
    // A plain word is an ID, mistyped or not, and is never looked for in names.
    for words: [BytePath] in [
      ["rm", "cafe"], ["rm", "txt"], ["retry", "0.txt"], ["rm", "or", "txt"],
    ] {
      let id = try workspace.program.run(words)
      #expect(id.exitCode == 2 && id.errors.contains("No asset has an ID"), "\(id.errors)")
    }
    try workspace.json("search", "save", "word", "txt")
    for words: [BytePath] in [
      ["retry", "nme:x"], ["rm", ""], ["rm", " "], ["rm", "-f", "name:1"],
      ["rm", "name:1", "0197"],
      ["retry", ""], ["rm", "-x"], ["rm", "name:1 or txt"], ["rm", "(txt)"], ["rm", "not nothing"],
      ["rm", "0.txt 1.txt"], ["rm", "@word"],
    ] {
      #expect(try workspace.program.run(words).exitCode == 2, "\(words)")
    }
    #expect(try workspace.json("count", "-is:trashed").first?["assets"] == 3)
  }

  @Test("rm of more than a few assets by a query needs --yes, and is sent in parts")
  func many() throws {
    let workspace = try Workspace(stages: [])
    for index in 0..<1200 { try workspace.put("text \(index)", as: BytePath("\(index).txt")) }
    try workspace.json("run")
    let refused = try workspace.run("rm", "name:txt")
    #expect(refused.exitCode == 2 && refused.errors.contains("add --yes"), "\(refused.errors)")
    #expect(try workspace.json("count", "is:trashed").first?["assets"] == 0)
    #expect(try workspace.json("rm", "name:txt", "--yes").first?["assets"] == 1200)
    #expect(try workspace.json("count", "is:trashed").first?["assets"] == 1200)
  }

  @Test("Pages of any order have every asset once, in that order")
  func pages() throws {
    let workspace = try texts(40)
    for (order, criterion) in [
      ([], "id"), (["--sort", "size"], "size"), (["--sort", "-size"], "size"),
      (["--sort", "-kind,name"], "name"),
    ] {
      let all = try workspace.program.run(
        ["list", "--fields", BytePath("id,\(criterion)"), "--json"] + order.map { BytePath($0) }
      ).events()
      #expect(all.count == 40)
      let values = all.compactMap { $0[criterion]?.double }
      #expect(values == (order.last == "-size" ? values.sorted(by: >) : values.sorted()))
      var pages: [JSONValue] = []
      while true {
        var words: [BytePath] = ["list", "--limit", "7", "--fields", BytePath("id,\(criterion)")]
        if let last = pages.last?["id"]?.string { words += ["--after", BytePath(last)] }
        let page = try workspace.program.run(words + order.map { BytePath($0) } + ["--json"])
          .events()
        if page.isEmpty { break }
        pages += page
      }
      #expect(pages == all, "\(order)")
    }
  }

  @Test("A page goes on after its last asset whatever was imported, trashed or found meanwhile")
  func after() throws {
    let workspace = try texts(10)
    let first = try workspace.json("list", "--sort", "size", "--limit", "4")
    let last = try #require(first.last?["id"]?.string)
    try workspace.put("", as: "empty-ones-are-rejected.txt")
    try workspace.put("y", as: "smallest.txt")
    try workspace.put(String(repeating: "z", count: 99), as: "largest.txt")
    try workspace.json("run", exit: 3)
    try workspace.json("rm", BytePath(last))
    let rest = try workspace.json(
      "list", "-is:trashed", "--sort", "size", "--after", BytePath(last))
    #expect(rest.count == 7 && rest.last?["name"] == "largest.txt")
    #expect(Set(first.map { $0["id"] }).isDisjoint(with: rest.map { $0["id"] }))
    #expect(try workspace.run("trash", "empty", "--yes").exitCode == 0)
    try workspace.json("list", "--sort", "size", "--after", BytePath(last), exit: 2)
    // In order of import, an ID alone says where to go on.
    let later = try workspace.json("list", "--after", BytePath(last))
    #expect(later.count == 11 - (try index(of: last, among: workspace)))
  }

  /// How many assets were imported before the one with an ID.
  private func index(of id: String, among workspace: Workspace) throws -> Int {
    try workspace.assets().count { $0["id"]?.string ?? "" < id }
  }

  @Test("Tables of other programs keep what a name contains")
  func formats() throws {
    let workspace = try Workspace(stages: [["name": "identify", "plugin": "identify"]])
    for name in ["a,b \"c\".txt", "tab\there.txt"] { try workspace.put(name, as: BytePath(name)) }
    try workspace.json("run")
    func output(_ words: BytePath...) throws -> String {
      try workspace.program.run([BytePath("list"), "--sort", "name"] + words).output
    }
    #expect(
      try output("--fields", "name,size", "--format", "csv")
        == "name,size\n\"a,b \"\"c\"\".txt\",11\ntab\\u{9}here.txt,12\n")
    #expect(
      try output("--fields", "size,name", "--format", "tsv")
        == "size\tname\n11\ta,b \"c\".txt\n12\ttab\\u{9}here.txt\n")
    let table = try output("--format", "table").split(separator: "\n")
    #expect(table.count == 3 && table[0].hasPrefix("ID        TAKEN"))
    #expect(table.allSatisfy { $0.count <= 80 })
    let id = try #require(try workspace.assets().first?["id"]?.string)
    #expect(table.dropFirst().contains { $0.hasPrefix(id.suffix(8)) })
    #expect(try workspace.json("show", BytePath(String(id.suffix(8)))).first?["id"]?.string == id)
    // On a pipe a list without options is what it always was.
    #expect(try output().split(separator: "\n").allSatisfy { $0.split(separator: "\t").count == 6 })
  }

  @Test(
    "What can't be understood says so, and where the words are listed",
    arguments: [
      (["camra:x"], "“camra”; did you mean “camera”? See `pipeline help query`"),
      (["taken:2024-13"], "“taken:2024-13” needs a date"), (["a or"], "ends where a word"),
      (["--sort", "siez"], "did you mean “size”"), (["--limit", "-1"], "needs a number"),
      (["--fields", "nmae"], "did you mean “name”"), (["--format", "xml"], "“csv”"),
      (["--group-by", "moth"], "did you mean “month”"), (["--json", "--format", "csv"], "exclude"),
      (["--group-by", "camera", "--limit", "3"], "--limit is for lists"),
      (["imported:300000000000y"], "needs a date"),
    ])
  func errors(words: [String], message: String) throws {
    let workspace = try Workspace()
    let outcome = try workspace.program.run([BytePath("list")] + words.map { BytePath($0) })
    #expect(
      outcome.exitCode == 2 && (outcome.errors + outcome.output).contains(message),
      "\(outcome.errors)")
  }

  @Test("A word that begins with a dash is negated, unless it is an option")
  func dashes() throws {
    let workspace = try texts(3)
    #expect(try names(workspace, "--limit", "9223372036854775807", "--sort", "size").count == 3)
    #expect(try names(workspace, "-name:1.txt") == ["0.txt", "2.txt"])
    #expect(try names(workspace, "-1") == ["0.txt", "2.txt"])
    #expect(try names(workspace, "-q", "-0").count == 2)
    #expect(try workspace.run("status", "-0").exitCode == 2)
  }
}
