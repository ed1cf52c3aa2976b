import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Stages of the bundled plugins beside identify and thumbnail, in their sandbox.
@Suite("Bundled stages", .timeLimit(.minutes(5)))
struct BundledStageTests {
  private func stage(
    _ options: [String: JSONValue], _ more: [String: JSONValue] = [:]
  ) -> JSONValue {
    var stage: [String: JSONValue] = [
      "name": "note", "plugin": "command", "needs": ["identify"], "options": .object(options),
    ]
    stage.merge(more) { $1 }
    return [["name": "identify", "plugin": "identify"], .object(stage)]
  }

  private static let allowed: [String: JSONValue] = ["allow": ["exec": true]]

  #if METADATA
    @Test("What a picture says of itself is in its record, and in the view")
    func metadata() throws {
      let workspace = try Workspace(stages: [
        ["name": "identify", "plugin": "identify"], ["name": "tags", "plugin": "metadata"],
      ])
      try workspace.put(try Pictures.jpeg(width: 30, height: 20), as: "a.jpg")
      try workspace.put("no picture", as: "b.txt")
      try workspace.json("run")
      let id = try #require(try workspace.asset(named: "a.jpg")["id"]?.string)
      let facts = try workspace.json("show", BytePath(id)).first?["facts"]?["tags"]
      #expect(facts?["exif"]?["Make"]?.string == PicturesExif.camera)
      #expect(facts?["exif"]?["DateTimeOriginal"] == "2024-05-06T07:08:09")
      #expect(try workspace.asset(named: "a.jpg")["capturedFrom"] == "exif:DateTimeOriginal")
      let latitude = try #require(facts?["gps"]?["latitude"]?.double)
      #expect(abs(latitude - (48 + 51.0 / 60 + 29.0 / 3600)) < 1e-9)
      let view = "SELECT asset, stage, value FROM metadata WHERE family = 'exif' AND name = 'Make'"
      #expect(try workspace.query(view) == ["\(id)|tags|\(PicturesExif.camera)"])
      #expect(try workspace.asset(named: "b.txt")["state"] == "done")
    }
  #endif

  @Test(
    "A stage works on a thumbnail instead of the picture, sees nothing else, and runs again for another"
  )
  func thumbnailAsInput() throws {
    func stages(_ size: Int, input: String = "thumbnails/grid") -> JSONValue {
      let script = #"od -An -tx1 -N3 "$1"; ls -A "$(dirname "$1")" | wc -l"#
      let note: JSONValue = [
        "name": "note", "plugin": "command", "input": .string(input), "allow": ["exec": true],
        "options": ["command": ["sh", "-c", .string(script), "-", "{input}"], "facts": "text"],
      ]
      return .array((Workspace.stages(sizes: ["grid": size]).array ?? []) + [note])
    }
    let workspace = try Workspace(stages: stages(64))
    try workspace.put(try Pictures.alphaPNG([20, 120, 40]), as: "a.png")
    try workspace.put("no picture", as: "b.txt")
    try workspace.json("run")
    let id = BytePath(try #require(try workspace.asset(named: "a.png")["id"]?.string))
    let facts = try workspace.json("show", id).first?["facts"]?["note"]
    #expect(facts?["output"] == " ff d8 ff\n1\n")
    try workspace.configure(stages: stages(32))
    let again = try workspace.json("run").of("job")
    #expect(again.filter { $0["outcome"] == "done" }.map { $0["stage"] } == ["thumbnails", "note"])
    // Its name is checked before any work.
    try workspace.configure(stages: stages(32, input: "thumbnails/grit"))
    let error = try #require(try workspace.json("run", exit: 2).of("error").first)
    #expect(error["pointer"] == "/stages/2/input")
    #expect(error["message"]?.string?.contains("did you mean “grid”?") == true, "\(error)")
  }

  @Test("The example of docs/command.md draws waves, and leaves other files alone")
  func waves() throws {
    let place = try DocumentFolder()
    let page = "docs/command.md"
    try place.makeFolder("waves")
    try place.write(
      try DocumentFolder.blocks("python", of: page, section: "Renditions"), to: "waves/draw.py")
    let configuration = try DocumentFolder.blocks("json", of: page, section: "Renditions")
    try place.write(
      configuration.replacing("/home/me", with: place.home.path), to: "waves/pipeline.json")
    let made = try place.run(
      """
      python3 - <<'END'
      import math, os, struct, wave
      with wave.open(os.path.expanduser("~/Downloads/tone.wav"), "wb") as sound:
          sound.setparams((1, 2, 8000, 0, "NONE", ""))
          sound.writeframes(b"".join(struct.pack("<h", int(20000 * math.sin(i / 9))) for i in range(8000)))
      END
      """)
    #expect(made.status == 0, "\(made.text)")
    let outcome = try place.run(try DocumentFolder.blocks("sh", of: page, section: "Renditions"))
    #expect(outcome.status == 0, "\(outcome.text)")
    let shown = try place.run(
      "cd waves; pipeline list kind:image --json; pipeline list --json kind:audio")
    #expect(shown.text.contains(#""stage":"wave","stale":false,"storage":"database","width":512"#))
    let listed = try place.run(
      "cd waves; pipeline show $(pipeline list kind:image | head -n 1 | cut -f 1)")
    #expect(
      listed.text.contains("The “accepts” of the stage wave leaves out image/jpeg."),
      "\(listed.text)")
    let drawn = try PicturesReading(
      Array(try Data(contentsOf: place.home.appending(path: "waves/wave.png"))))
    #expect(drawn.width == 512 && drawn.height == 128)
  }

  @Test("The film of a Motion Photo is a rendition, and other pictures are skipped")
  func motion() throws {
    let workspace = try Workspace(stages: [["name": "motion", "plugin": "motion"]])
    let film = Pictures.filmBoxes(width: 320, height: 180)
    try workspace.put(try Pictures.motionPhoto(film), as: "a.jpg")
    try workspace.put(try Pictures.jpeg(width: 30, height: 20), as: "b.jpg")
    try workspace.json("run")
    let asset = try workspace.asset(named: "a.jpg")
    let made = try #require(asset["renditions"]?.array)
    #expect(made.count == 1 && made[0]["mediaType"] == "video/mp4" && made[0]["width"] == 320)
    let id = BytePath(try #require(asset["id"]?.string))
    #expect(try workspace.run("get", id, "--rendition", "film").outputBytes == film)
    let other = try workspace.asset(named: "b.jpg")
    #expect(other["renditions"] == [] && other["state"] == "done")
  }

  @Test("Without leave to start programs no command runs, and the reason says what to do")
  func refused() throws {
    let workspace = try Workspace(stages: stage(["command": ["true"]]))
    try workspace.put("some text", as: "a.txt")
    try workspace.json("run", exit: 3)
    let failure = try #require(try workspace.json("failed").of("failure").first)
    #expect(failure["class"] == "environment")
    #expect(failure["reason"]?.string?.contains("“\"allow\": {\"exec\": true}”") == true)
  }

  @Test("A command runs for each asset, whatever its name, and what it prints is in the record")
  func names() throws {
    let options: [String: JSONValue] = [
      "command": [
        "sh", "-c", "cat -- \"$1\"; printf '|%s' \"$@\"", "-", "{input}", "{name}", "{mediaType}",
      ],
      "facts": "text",
    ]
    let workspace = try Workspace(stages: stage(options, Self.allowed))
    let names = ["-rf", "a b", "'$(touch never)`\"", "two\nlines", "plain"]
    for name in names { try workspace.put("text of \(name)", as: BytePath(name)) }
    try workspace.put("not UTF-8", as: BytePath(bytes: [0x61, 0xFF]))
    try workspace.json("run")
    var found: Set<String> = []
    for asset in try workspace.assets() {
      let id = try #require(asset["id"]?.string)
      let output = try #require(
        try workspace.json("show", BytePath(id)).first?["facts"]?["note"]?["output"]?.string)
      let parts = output.split(separator: "|").map(String.init)
      #expect(parts.count == 4 && parts[1].hasPrefix("/") && parts[3].hasPrefix("text/"))
      found.insert("\(parts[0])|\(parts[2])")
    }
    #expect(found == Set(names.map { "text of \($0)|\($0)" } + ["not UTF-8|a%FF"]))
    #expect(!workspace.exists("never") && !workspace.exists("inbox/never"))
  }

  @Test("A command that outlives its time limit is ended with all that it started")
  func limits() throws {
    // A number that no other test sleeps for.
    let seconds = "7\(getpid())"
    let options: [String: JSONValue] = [
      "command": ["sh", "-c", .string("trap '' TERM; sleep \(seconds) & sleep \(seconds)")]
    ]
    var more = Self.allowed
    more["timeout"] = "1s"
    more["attempts"] = 1
    let workspace = try Workspace(stages: stage(options, more))
    try workspace.put("some text", as: "a.txt")
    try workspace.json("run", exit: 3)
    #expect(try workspace.json("failed").of("failure").first?["class"] == "transient")
    let left = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter {
      guard Int($0) != nil else { return false }
      // A process may end while it is looked at.
      let line = try? Data(contentsOf: URL(filePath: "/proc/\($0)/cmdline"))
      let words = line.map { String(decoding: $0, as: UTF8.self) } ?? ""
      return ["sleep \(seconds)", "sleep\0\(seconds)"].contains { words.contains($0) }
    }
    #expect(left.isEmpty)
  }

  @Test("A command can neither write outside of its folder nor reach other files")
  func contained() throws {
    let workspace = try Workspace()
    let secret = workspace.root.appending("secret.txt")
    try workspace.write(Array("secret".utf8), to: "secret.txt")
    let options: [String: JSONValue] = [
      "command": [
        "sh", "-c", "echo x > \"$1\"; cat \"$2\"; echo in > here; cat here", "-",
        .string("\(workspace.root)/stray"), .string(secret.description),
      ],
      "facts": "text",
    ]
    try workspace.configure(stages: stage(options, Self.allowed))
    try workspace.put("some text", as: "a.txt")
    try workspace.json("run")
    let id = try #require(try workspace.assets().first?["id"]?.string)
    let output = try workspace.json("show", BytePath(id)).first?["facts"]?["note"]?["output"]
    #expect(output == "in\n")
    #expect(!workspace.exists("stray"))
  }
}
