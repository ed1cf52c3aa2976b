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
    #expect(outcome.errors.contains("out/b.txt.xmp” is not of an earlier export"))
    let sidecar = String(decoding: try workspace.read("out/a.txt.xmp"), as: UTF8.self)
    #expect(sidecar.contains("<rdf:li>two</rdf:li>"))
    #expect(try workspace.read("out/b.txt.xmp") == Array("edited".utf8))
    #expect(try workspace.files(below: "out").count == 6)
    try Unprivileged.shell(
      "cd out && grep -v b.txt.xmp SHA256SUMS | sha256sum --check --strict", in: workspace)
  }
}
