import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Places with names that are not UTF-8, and paths that lead through links.
@Suite("Odd places", .timeLimit(.minutes(5)))
struct OddPlaceTests {
  /// `café` as Latin-1 writes it.
  private static let name = BytePath(bytes: Array("caf".utf8) + [0xE9])

  @Test(
    "A library whose path is not UTF-8 works from init to thumbnail and back",
    arguments: ["process", "none"])
  func notUTF8(isolation: String) throws {
    let top = try TemporaryFolder()
    let place = top.path.appending(Self.name)
    var program = BuiltProgram(in: top.path)
    #expect(try program.run(["init", Self.name]).exitCode == 0)
    let folder = try Descriptor.openFolder(place)
    let text = String(decoding: try folder.readFile("pipeline.json"), as: UTF8.self)
      .replacing("\"mode\": \"move\"", with: "\"mode\": \"move\", \"settle\": \"0s\"")
      .replacing("\"timeout\"", with: "\"isolation\": \"\(isolation)\", \"timeout\"")
    try folder.writeDurably(Array(text.utf8), as: "pipeline.json", mode: 0o644)
    let inbox = try Descriptor.openFolder("inbox", in: folder)
    try inbox.writeDurably(try Pictures.jpeg(width: 1400, height: 1000), as: "a.jpg")
    let configuration = place.appending("pipeline.json")
    let run = try program.run(["run", "--json", "--config", configuration])
    #expect(run.exitCode == 0, "\(run.output) \(run.errors)")

    program.folder = place
    let asset = try #require(try program.run(["list", "--json"]).events().first)
    #expect(asset["state"] == "done" && asset["width"] == 1400)
    let id = BytePath(try #require(asset["id"]?.string))
    #expect(try program.run(["show", id]).exitCode == 0)
    let rendition = try program.run(["get", id, "--rendition", "grid", "-o", "grid.jpg"])
    #expect(rendition.exitCode == 0, "\(rendition.errors)")
    #expect(try PicturesReading(folder.readFile("grid.jpg")).width == 256)
    #expect(try program.run(["verify"]).exitCode == 0)
    #expect(try program.run(["explain", "inbox/a.jpg"]).output.contains("imported"))

    try besideWatch(program, folder)
    #expect(try program.run(["undo", "--yes"]).exitCode == 0)
    #expect(try program.run(["rebuild-catalog"]).exitCode == 0)
    #expect(try program.run(["run"]).exitCode == 0)
    #expect(try program.run(["verify"]).exitCode == 0)
  }

  /// Imports a file by the process that holds the library.
  private func besideWatch(_ program: BuiltProgram, _ folder: Descriptor) throws {
    try folder.writeDurably(try Pictures.jpeg(width: 300, height: 200), as: "b.jpg")
    let watch = try program.start(["watch"])
    let library = try Descriptor.openFolder("library", in: folder)
    try watch.wait(for: "the control socket") {
      try library.entries().contains { $0.name == "control" }
    }
    let imported = try program.run(["import", "--json", folder.path.appending("b.jpg")])
    #expect(imported.exitCode == 0, "\(imported.output) \(imported.errors)")
    #expect(try imported.events().summary["imported"] == 1)
    watch.signal(SIGTERM)
    let end = try watch.wait(within: 20)
    #expect(end.exitCode == 143 && end.errors == "", "\(end.errors)")
  }

  @Test("A link and `..` in a path mean to import, get and explain what they mean to the kernel")
  func linkAndParent() throws {
    let workspace = try Workspace()
    for name in ["card", "card/photos"] { try workspace.makeFolder(workspace.root.appending(name)) }
    try workspace.write(Array("right".utf8), to: "card/x.txt")
    try workspace.write(Array("wrong".utf8), to: "x.txt")
    #expect(symlink("card/photos", workspace.root.appending("link").description) == 0)
    try workspace.json("import", "link/../x.txt")
    let id = BytePath(try #require(try workspace.asset(named: "x.txt")["id"]?.string))
    #expect(try workspace.run("get", id).output == "right")
    #expect(try workspace.run("get", id, "-o", "link/../copy.txt").exitCode == 0)
    #expect(workspace.exists("card/copy.txt") && !workspace.exists("copy.txt"))
    let explained = try workspace.json("explain", "link/../x.txt").of("path").first
    #expect(explained?["state"] == "imported")
  }
}
