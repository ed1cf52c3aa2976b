import Fixtures
import PipelineModel
import Testing

/// What users are told of files that are kept without a thumbnail.
@Suite("Files without a thumbnail", .timeLimit(.minutes(2)))
struct ThumbnailGapVerbTests {
  @Test("list, show and status say which files have none, and why")
  func told() throws {
    let workspace = try Workspace()
    try workspace.put("some words", as: "a.txt")
    try workspace.put("other words", as: "b.txt")
    let jpeg = try Pictures.jpeg(width: 60, height: 40)
    try workspace.put(jpeg, as: "whole.jpg")
    try workspace.put(Array(jpeg.prefix(jpeg.count / 2)), as: "cut.jpg")
    try workspace.json("run", exit: 3)
    let lines = try workspace.run("list").output.split(separator: "\n")
    func marks(_ name: String) throws -> String {
      let line = try #require(lines.first { $0.contains("\t\(name)") })
      return String(line.split(separator: "\t").last ?? "")
    }
    #expect(try marks("a.txt") == "skipped by 1 stage, no thumbnail: kind not supported")
    #expect(try marks("cut.jpg") == "no thumbnail: failed")
    #expect(try marks("whole.jpg") == "whole.jpg")
    let table = try workspace.run("list", "--format", "table").output.split(separator: "\n")
    #expect(
      table.filter { $0.hasSuffix(" (no thumbnail)") }.count == 3
        && !table.contains { $0.contains("whole.jpg (") }, "\(table)")
    let text = try workspace.asset(named: "a.txt")
    #expect(text["withoutThumbnail"]?["cause"] == "unsupported")
    #expect(try workspace.asset(named: "whole.jpg")["withoutThumbnail"] == .null)
    let id = BytePath(try #require(text["id"]?.string))
    let shown = try workspace.run("show", id).output
    #expect(
      shown.contains(
        "\n  thumbnail none, kind not supported: The plugin thumbnail does not work on text/plain.\n"
      ), "\(shown)")
    let found = try workspace.run("list", "--fields", "name", "is:no-thumbnail").output
    #expect(Set(found.split(separator: "\n")) == ["a.txt", "b.txt", "cut.jpg"])
    let status = try workspace.run("status").output
    #expect(
      status.contains(
        "\nthumbnails  3 kept without a thumbnail: 2 kind not supported (text/plain 2), 1 failed; "),
      "\(status)")
    let counts = try #require(
      try workspace.run("status", "--json").events().first?["withoutThumbnail"])
    #expect(counts["assets"] == 3 && counts["isPartial"] == false)
    #expect(counts["causes"] == ["unsupported": 2, "failed": 1])
    #expect(counts["groups"]?.array?.first?["mediaType"] == "text/plain")
  }

  @Test("A file that the stage's own accepts leaves out says so")
  func excluded() throws {
    let workspace = try Workspace()
    try workspace.configure(stages: [
      ["name": "thumbnails", "plugin": "thumbnail", "accepts": ["image/png"]]
    ])
    try workspace.put(try Pictures.jpeg(width: 60, height: 40), as: "whole.jpg")
    try workspace.put("some words", as: "a.txt")
    try workspace.json("run")
    let reason = "The “accepts” of the stage thumbnails leaves out image/jpeg."
    let asset = try workspace.asset(named: "whole.jpg")
    #expect(
      asset["withoutThumbnail"]
        == ["cause": "excluded", "reason": .string(reason), "stage": "thumbnails"])
    let listed = try workspace.run("list").output
    #expect(
      listed.contains("\tskipped by 1 stage, no thumbnail: left out by “accepts”\n"), "\(listed)")
    let shown = try workspace.run("show", BytePath(try #require(asset["id"]?.string))).output
    #expect(shown.contains("\n  thumbnail none, left out by “accepts”: \(reason)\n"), "\(shown)")
    let status = try workspace.run("status").output
    #expect(
      status.contains(
        "\nthumbnails  2 kept without a thumbnail: 2 left out by “accepts” (image/jpeg 1, text/plain 1); "
      ), "\(status)")
  }

  /// A BMP of 8 by 8 pixels in 24 bits.
  private static let bitmap: [UInt8] = {
    func little(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let pixels = [UInt8](repeating: 120, count: 8 * 8 * 3)
    return Array("BM".utf8) + little(54 + pixels.count, 4) + little(0, 4) + little(54, 4)
      + little(40, 4) + little(8, 4) + little(8, 4) + little(1, 2) + little(24, 2)
      + little(0, 4) + little(pixels.count, 4) + little(2835, 4) + little(2835, 4)
      + little(0, 8) + pixels
  }()

  @Test(
    "A file whose decoder was left out says which package is missing, until that is there",
    .enabled(if: BuiltCopy.decoders.contains("magick"), "This build has no such decoder."))
  func leftOut() throws {
    let copy = try BuiltCopy(without: ["magick"])
    let workspace = try Workspace()
    let installed = workspace.program.program
    workspace.program.program = copy.program.program
    try workspace.put(Self.bitmap, as: "old.bmp")
    try workspace.json("run")
    let gap = try #require(try workspace.asset(named: "old.bmp")["withoutThumbnail"])
    #expect(gap["cause"] == "unavailable", "\(gap)")
    let reason = try #require(gap["reason"]?.string)
    #expect(reason.contains("libmagickcore-dev"), "\(reason)")
    let status = try workspace.run("status").output
    #expect(
      status.contains("1 kept without a thumbnail: 1 software or a store not available;")
        && status.contains("            \(reason)\n"), "\(status)")
    #expect(try workspace.run("failed").output == "")
    workspace.program.program = installed
    try workspace.json("run")
    #expect(try workspace.asset(named: "old.bmp")["withoutThumbnail"] == .null)
  }

  @Test("The run that gives up a file which ended the program each time says so and fails")
  func interrupted() throws {
    let workspace = try Workspace()
    try HostilePlugin.makeLibrary(in: workspace)
    try workspace.configure(
      stages: [
        ["name": "hostile", "plugin": "hostile", "isolation": "none", "attempts": 1]
      ], ["plugins": ["plugins"]])
    try workspace.put("abort", as: "deed.txt")
    var ends = 0
    var last = try workspace.run("run", "--json")
    // The first attempt, then one alone.
    while last.signal != nil, ends < 5 {
      ends += 1
      last = try workspace.run("run", "--json")
    }
    #expect(ends == 2 && last.exitCode == 3, "\(ends) ends, \(last)")
    let job = try #require(try last.events().of("job").first)
    #expect(job["outcome"] == "failed" && job["class"] == "permanent" && job["stage"] == "hostile")
    #expect(job["reason"] == "The program ended 2 times while this job was running.")
    #expect(try last.events().of("summary").first?["jobsFailed"] == 1)
    let next = try workspace.run("run", "--json")
    #expect(next.exitCode == 0)
    #expect(try next.events().of("job").isEmpty)
  }
}
