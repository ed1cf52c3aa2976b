import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// `tag`, as built.
@Suite("Tagging assets", .timeLimit(.minutes(5)))
struct TagVerbTests {
  private func library() throws -> Workspace {
    let workspace = try Workspace(stages: [["name": "identify", "plugin": "identify"]])
    for name in ["a.txt", "b.txt", "c.txt"] {
      try workspace.put("text \(name)", as: BytePath(name))
    }
    try workspace.json("run")
    return workspace
  }

  private func names(_ workspace: Workspace, _ words: BytePath...) throws -> [String] {
    let outcome = try workspace.program.run(["list"] + words + ["--fields", "name"])
    try #require(outcome.exitCode == 0, "\(words): \(outcome.errors)")
    return outcome.output.split(separator: "\n").map(String.init)
  }

  private func changed(_ workspace: Workspace, _ words: BytePath...) throws -> JSONValue? {
    let outcome = try workspace.program.run(["tag", "--json"] + words)
    try #require(outcome.exitCode == 0, "\(words): \(outcome.errors)")
    return try JSONText.decode(JSONValue.self, from: outcome.output.utf8)["assets"]
  }

  @Test("Tags, albums, ratings and texts are given, found, and taken away")
  func tagging() throws {
    let workspace = try library()
    #expect(try changed(workspace, "size>0", "+keep", "+a:b", "--rating", "4", "-n") == 3)
    #expect(try names(workspace, "tag:keep") == [])
    #expect(try changed(workspace, "size>0", "+keep", "+a:b", "--rating", "4") == 3)
    #expect(try changed(workspace, "size>0", "+keep", "--rating", "4") == 0)
    #expect(try changed(workspace, "name:a", "name:txt", "-keep", "--rating", "-1") == 1)
    #expect(try changed(workspace, "-name:a", "--album", "One", "--album", "T & w") == 2)
    #expect(try changed(workspace, "album:one", "name:c", "--remove-album", "One") == 1)
    #expect(try changed(workspace, "rating:4", "--title", "Ti tle", "--caption", "C\nc") == 2)
    #expect(try changed(workspace, "name:c", "--clear", "title", "--remove", "a:b") == 1)
    #expect(try names(workspace, "tag:keep") == ["b.txt", "c.txt"])
    #expect(try names(workspace, "rating=-1") == ["a.txt"])
    #expect(try names(workspace, "album=One") == ["b.txt"])
    #expect(try names(workspace, "album:*") == ["b.txt", "c.txt"])
    #expect(try names(workspace, "ti", "caption:c") == ["b.txt"])
    #expect(try names(workspace, "-tag=a:b") == ["c.txt"])
    let shown = try workspace.run("show", BytePath(try id("a.txt", workspace))).output
    #expect(shown.contains("  tag       keep (taken away)\n") && shown.contains("  rating    -1\n"))
    let groups = try workspace.json("count", "--group-by", "album").of("group")
    #expect(groups.map { $0["album"] } == ["One", "T & w", .null])
  }

  private func id(_ name: String, _ workspace: Workspace) throws -> String {
    try #require(try workspace.asset(named: name)["id"]?.string)
  }

  @Test("A catalog made anew has everything that was said, and nothing else")
  func rebuilt() throws {
    let workspace = try library()
    _ = try changed(workspace, "size>0", "+keep", "+draft", "--album", "A", "--rating", "2")
    _ = try changed(workspace, "name:b", "-draft", "--caption", "Two\nlines \\ \"x\"")
    _ = try changed(workspace, "name:c", "--clear", "rating")
    let before = try workspace.json("list")
    let found = try names(workspace, "tag:draft")
    try workspace.json("rebuild-catalog")
    try workspace.json("run")
    #expect(try workspace.json("list") == before)
    #expect(try names(workspace, "tag:draft") == found)
    #expect(try workspace.json("verify").of("problem") == [])
    #expect(before.contains { $0["annotations"]?.array?.isEmpty == false })
  }

  @Test("Beside watch, the holder of the library tags")
  func besideWatch() throws {
    let workspace = try library()
    let watch = try workspace.program.start(["watch", "--json"])
    try workspace.waitForHolder(watch)
    #expect(try changed(workspace, "name:a", "+live") == 1)
    #expect(try names(workspace, "tag:live") == ["a.txt"])
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 20).exitCode == 143)
  }

  @Test(
    "What makes no sense changes nothing and says why",
    arguments: [
      (["+x"], "Name the assets"), (["size>0"], "Say what to change"),
      (["size>0", "+x", "-x"], "both given and taken away"),
      (["size>0", "--title", "x", "--clear", "title"], "both given and taken away"),
      (["size>0", "--rating", "6"], "no rating"), (["size>0", "--clear", "titel"], "“title”"),
      (["nothing", "+x"], "No asset has an ID"), (["size:x", "+x"], "size"),
      (["size>0", "+a\u{1b}[31m"], "control characters"),
      (["some", "words here", "+x"], "Words without a field"),
      (["size>0", "+keep -draft"], "would be one tag"),
      (["+x rating>=4", "size>0"], "would be one tag"),
    ])
  func refused(words: [String], reason: String) throws {
    let workspace = try library()
    let outcome = try workspace.program.run(["tag"] + words.map { BytePath($0) })
    #expect(outcome.exitCode == 2)
    #expect(outcome.errors.contains(reason), "\(outcome.errors)")
    #expect(!outcome.errors.contains("\u{1b}"))
    #expect(try workspace.query("SELECT count(*) FROM annotation") == ["0"])
  }

  @Test("More than a few assets need --yes")
  func many() throws {
    let workspace = try Workspace(stages: [])
    for index in 0..<21 { try workspace.put("\(index)", as: BytePath("\(index).txt")) }
    try workspace.json("run")
    let outcome = try workspace.run("tag", "size>0", "+x")
    #expect(outcome.exitCode == 2 && outcome.errors.contains("add --yes"), "\(outcome.errors)")
    #expect(try changed(workspace, "size>0", "+x", "--yes") == 21)
  }

  #if METADATA
    @Test("Sidecars say what was said, in words that other programs read")
    func sidecars() throws {
      let workspace = try library()
      _ = try changed(
        workspace, "name:a", "+<keep> & co", "+\u{e9}t\u{e9}", "--rating", "5", "--title",
        "T \"t\"",
        "--caption", "One\ntwo", "--album", "Best")
      let first = try workspace.json("export", "--to", "out", "--sidecars")
      #expect(first.of("exported").first?["sidecars"] == 1)
      try Unprivileged.shell("cd out && sha256sum --check --strict SHA256SUMS", in: workspace)
      // As a picture's own metadata, by another implementation of XMP.
      let reader = try Workspace(stages: [
        ["name": "identify", "plugin": "identify"], ["name": "metadata", "plugin": "metadata"],
      ])
      let jpeg = try Pictures.jpeg(width: 20, height: 10)
      let packet =
        Array("http://ns.adobe.com/xap/1.0/\0".utf8) + (try workspace.read("out/a.txt.xmp"))
      let length = packet.count + 2
      let segment = [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + packet
      try reader.put(Array(jpeg[..<2]) + segment + Array(jpeg[2...]), as: "a.jpg")
      try reader.json("run")
      let outcome = try reader.run("list", "--fields", "tag,rating,title,caption")
      #expect(
        outcome.output == "<keep> & co, \u{e9}t\u{e9}\t5\tT \"t\"\tOne\\u{a}two\n",
        "\(outcome.output)")
    }
  #endif

  @Test("What was said before the file was read counts afterwards, too")
  func beforeMetadata() throws {
    let workspace = try library()
    // Nothing is known of the file that this could change.
    #expect(try changed(workspace, "name:a", "-draft", "--clear", "title") == 1)
    #expect(try changed(workspace, "name:a", "-draft", "--clear", "title") == 0)
    let said = try workspace.asset(named: "a.txt")["annotations"]?.array ?? []
    #expect(said.map { $0["applies"] } == [false, false])
  }

  /// The files of an export, after `sha256sum` agreed with all of them.
  private func exported(_ workspace: Workspace, _ folder: BytePath) throws -> [BytePath] {
    try Unprivileged.shell("cd '\(folder)' && sha256sum --check --strict SHA256SUMS", in: workspace)
    return try workspace.files(below: folder).filter { $0 != "SHA256SUMS" }
  }

  private func export(_ workspace: Workspace) throws -> Int? {
    let outcome = try workspace.program.run(["export", "--to", "out", "--sidecars", "--json"])
    #expect(outcome.exitCode == 0, "\(outcome.errors)\(outcome.output)")
    return try outcome.event("exported")["sidecars"]?.integer
  }

  @Test("Nobody else's file is replaced by a sidecar, whatever a list says of it")
  func foreignSidecars() throws {
    let workspace = try library()
    // An original with the name of a sidecar, and one of the user's own that a list names.
    try workspace.put("an original", as: "a.txt.xmp")
    try workspace.json("run")
    _ = try changed(workspace, "-name:xmp", "+x")
    try workspace.json("export", "--to", "out")
    try Unprivileged.shell(
      "cd out; printf mine > b.txt.xmp; sha256sum b.txt.xmp >> SHA256SUMS", in: workspace)
    for _ in 0..<2 {
      let outcome = try workspace.run("export", "--to", "out", "--sidecars")
      #expect(outcome.exitCode == 3)
      #expect(outcome.errors.contains("out/a.txt.xmp” is no sidecar of an earlier export"))
      #expect(outcome.errors.contains("out/b.txt.xmp” is no sidecar of an earlier export"))
      #expect(try workspace.read("out/a.txt.xmp") == Array("an original".utf8))
      #expect(try workspace.read("out/b.txt.xmp") == Array("mine".utf8))
    }
    #expect(try exported(workspace, "out").count == 6)
    // Where nothing is known of an asset, only a sidecar of its own is written anew: that of c.txt.
    _ = try changed(workspace, "-name:xmp", "-x")
    #expect(try export(workspace) == 1)
    #expect(try workspace.read("out/b.txt.xmp") == Array("mine".utf8))
  }

  @Test("Assets that share a file share the sidecar of the first")
  func sharedSidecar() throws {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": "0ms", "mode": "copy", "duplicates": "asset"]],
      stages: [])
    for folder in ["one", "two"] {
      try workspace.makeFolder(workspace.inbox.appending(BytePath(folder)))
      try workspace.put("same", as: BytePath("\(folder)/a.txt"))
    }
    try workspace.json("run")
    _ = try changed(workspace, "path:one", "+first")
    _ = try changed(workspace, "path:two", "+second")
    for _ in 0..<2 {
      _ = try export(workspace)
      #expect(try exported(workspace, "out") == ["a.txt", "a.txt.xmp"])
      let sidecar = String(decoding: try workspace.read("out/a.txt.xmp"), as: UTF8.self)
      #expect(sidecar.contains("first") && !sidecar.contains("second"))
    }
  }

  @Test("A sidecar says no more than is known, and an unchanged one is not written again")
  func takenAway() throws {
    let workspace = try library()
    let name = String(repeating: "x", count: 251) + ".txt"
    try workspace.put("long", as: BytePath(name))
    try workspace.json("run")
    _ = try changed(workspace, "size>0", "+x")
    #expect(try export(workspace) == 4)
    let files = try exported(workspace, "out")
    #expect(files.count == 8 && files.contains(BytePath(name.prefix(251) + ".xmp")))
    let before = try Descriptor.openFolder(workspace.root).status(below: "out/b.txt.xmp")
    _ = try changed(workspace, "name:a", "-x")
    #expect(try export(workspace) == 4)
    #expect(try exported(workspace, "out") == files)
    let after = try Descriptor.openFolder(workspace.root).status(below: "out/b.txt.xmp")
    #expect(before.identity == after.identity)
    let sidecar = String(decoding: try workspace.read("out/a.txt.xmp"), as: UTF8.self)
    #expect(!sidecar.contains("<rdf:li>"))
  }

  @Test(
    "A sidecar of an earlier export is written anew, and one that somebody changed is left alone")
  func sidecarsAgain() throws {
    let workspace = try library()
    _ = try changed(workspace, "-name:c", "+one")
    try workspace.json("export", "--to", "out", "--sidecars")
    _ = try changed(workspace, "-name:c", "+two")
    try workspace.write(Array("edited".utf8), to: "out/b.txt.xmp")
    let outcome = try workspace.run("export", "--to", "out", "--sidecars")
    #expect(outcome.exitCode == 3)
    #expect(outcome.errors.contains("out/b.txt.xmp” is no sidecar of an earlier export"))
    let sidecar = String(decoding: try workspace.read("out/a.txt.xmp"), as: UTF8.self)
    #expect(sidecar.contains("<rdf:li>two</rdf:li>"))
    #expect(try workspace.read("out/b.txt.xmp") == Array("edited".utf8))
    #expect(try workspace.files(below: "out").count == 6)
    try Unprivileged.shell(
      "cd out && grep -v b.txt.xmp SHA256SUMS | sha256sum --check --strict", in: workspace)
  }
}
