import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing
import Vips

/// `get --max-pixel-size`: pictures of any size.
@Suite("Pictures on demand", .timeLimit(.minutes(10)), .seeded)
struct OnDemandTests {
  /// A library with one picture of 800 × 600 pixels, stored turned, and its key.
  private func made(_ members: [String: JSONValue] = [:]) throws -> (Workspace, BytePath) {
    let workspace = try Workspace(sources: Workspace.inboxOnly, members)
    try workspace.put(
      try Pictures.jpeg(width: 800, height: 600, exif: PicturesExif(orientation: 6)), as: "a.jpg")
    try workspace.json("run")
    let id = try #require(try workspace.asset(named: "a.jpg")["id"]?.string)
    return (workspace, BytePath(id))
  }

  private func get(
    _ workspace: Workspace, _ id: BytePath, _ words: BytePath..., exit: Int32 = 0,
    at location: SourceLocation = #_sourceLocation
  ) throws -> BuiltProgramOutcome {
    let outcome = try workspace.program.run(["get", id, "--max-pixel-size"] + words)
    try #require(outcome.exitCode == exit, "\(outcome.errors)", sourceLocation: location)
    return outcome
  }

  private func reading(
    _ workspace: Workspace, _ id: BytePath, _ words: BytePath...
  ) throws -> PicturesReading {
    let outcome = try workspace.program.run(["get", id, "--max-pixel-size"] + words)
    try #require(outcome.exitCode == 0, "\(outcome.errors)")
    return try PicturesReading(outcome.outputBytes)
  }

  /// The files of the pictures that are kept.
  private func kept(_ workspace: Workspace) throws -> [BytePath] {
    let folder = workspace.library.appending("renditions/.on-demand")
    return try workspace.files(below: folder).filter { $0.description.contains("-") }
      .map { folder.appending($0) }
  }

  @Test("A picture has the size, format and part that were asked for, upright and never enlarged")
  func sizes() throws {
    let (workspace, id) = try made()
    let usual = try reading(workspace, id, "300")
    #expect(usual.width == 300 && usual.height == 225 && usual.loader == .jpeg)
    let large = try reading(workspace, id, "4000", "--format", "png")
    #expect(large.width == 800 && large.height == 600 && large.loader == .png)
    let part = try reading(workspace, id, "4000", "--format", "png", "--region", "20,500,100,1000")
    #expect(part.width == 100 && part.height == 100)
    for row in 0..<100 {
      let start = ((500 + row) * 800 + 20) * 3
      #expect(
        part.pixels[row * 300..<row * 300 + 300] == large.pixels[start..<start + 300], "\(row)")
    }
    #expect(try reading(workspace, id, "40", "--format", "webp").loader == .webp)
    // The largest that can be is one picture, however large the number.
    let count = try kept(workspace).count
    #expect(try reading(workspace, id, "3000", "--format", "png").pixels == large.pixels)
    #expect(try kept(workspace).count == count)
    try workspace.expectSound()
    let sound = try workspace.run("verify")
    #expect(sound.exitCode == 0, "\(sound.errors)")
    #expect(try workspace.run("gc", "--yes").exitCode == 0)
    #expect(try kept(workspace).count == count)
  }

  @Test(
    "A rendition of this very size is handed out, and of a larger one a smaller picture is made")
  func renditions() throws {
    let (workspace, id) = try made()
    let asset = try workspace.asset(named: "a.jpg")
    let outcome = try get(workspace, id, "128")
    #expect(
      try workspace.run("get", id, "--rendition", "preview").outputBytes == outcome.outputBytes)
    #expect(try kept(workspace).isEmpty)
    // Without the original a picture can come of a rendition only.
    let digest = try #require(asset["digest"]?.string)
    try workspace.damage(
      BytePath("library/originals/\(digest.prefix(2))/\(digest)"), Array("X".utf8))
    #expect(try reading(workspace, id, "100").width == 100)
    let failed = try get(workspace, id, "200", exit: 1)
    #expect(failed.errors.contains("No picture can be made of \(id)"))
    #expect(try kept(workspace).count == 1)
  }

  @Test("A rendition that is stretched, turned, mirrored or grey is none to make a picture of")
  func unusual() throws {
    let odd: [(String, JSONValue)] = [
      ("a", ["name": "a", "maxPixelSize": 300, "width": 300, "height": 300]),
      ("b", ["name": "b", "maxPixelSize": 300, "rotation": 180]),
      ("c", ["name": "c", "maxPixelSize": 300, "mirrored": true]),
      ("d", ["name": "d", "maxPixelSize": 300, "tones": "gray"]),
    ]
    let stages: [JSONValue] = odd.map { name, size in
      ["name": .string(name), "plugin": "thumbnail", "options": ["sizes": [size]]]
    }
    let workspace = try Workspace(
      stages: .array([["name": "identify", "plugin": "identify"]] + stages))
    try workspace.put(try Pictures.jpeg(width: 800, height: 600), as: "a.jpg")
    try workspace.json("run")
    let asset = try workspace.asset(named: "a.jpg")
    let id = BytePath(try #require(asset["id"]?.string))
    let turned = try PicturesReading(
      workspace.run("get", id, "--rendition", "b").outputBytes)
    let made = try reading(workspace, id, "300")
    #expect(made.width == 300 && made.height == 225 && made.bands == 3)
    for (one, other) in zip(made.corners, turned.corners.reversed()) {
      #expect(Pictures.distance(one, other) < 40)
    }
    let whole = try reading(workspace, id, "800")
    for (one, other) in zip(made.corners, whole.corners) {
      #expect(Pictures.distance(one, other) < 40)
    }
  }

  @Test("What can't be is refused with a sentence")
  func refused() throws {
    let (workspace, id) = try made(["onDemand": ["maxPixelSize": 500]])
    try workspace.put("a text", as: "t.txt")
    let half = Pictures.truncated(try Pictures.jpeg(width: 400, height: 300))
    try workspace.put(half, as: "half.jpg")
    _ = try workspace.run("run")
    let cases: [(BytePath, [BytePath], Int32, String)] = [
      (id, ["501"], 2, "1 to 500 pixels, not 501"), (id, ["0"], 2, "“0” is not a number"),
      (id, ["x"], 2, "“x” is not a number"),
      (id, ["100", "--format", "bmp"], 2, "“bmp” is not a format"),
      (id, ["100", "--region", "800,0,5,5"], 2, "lies outside the picture"),
      (id, ["100", "--region", "0,0,5"], 2, "is not a region"),
      (id, ["100", "--rotation", "45"], 2, "--rotation has no value “45”"),
      (id, ["100", "--quality", "sepia"], 2, "--quality has no value “sepia”"),
      (id, ["100", "--rendition", "grid"], 2, "use one of them"),
      (try self.id("t.txt", in: workspace), ["100"], 1, "it is of the type text/plain"),
      (try self.id("half.jpg", in: workspace), ["100"], 1, "No picture can be made"),
    ]
    for (asset, words, code, text) in cases {
      let outcome = try workspace.program.run(["get", asset, "--max-pixel-size"] + words)
      #expect(outcome.exitCode == code && outcome.errors.contains(text), "\(outcome.errors)")
      #expect(outcome.outputBytes.isEmpty)
    }
    let alone = try workspace.run("get", id, "--format", "png")
    #expect(alone.exitCode == 2 && alone.errors.contains("--format needs --max-pixel-size"))
    #expect(try kept(workspace).isEmpty)
  }

  private func id(_ name: String, in workspace: Workspace) throws -> BytePath {
    BytePath(try #require(try workspace.asset(named: name)["id"]?.string))
  }

  @Test("64 that ask for the same picture at once have it made once")
  func once() throws {
    let (workspace, id) = try made()
    // Makes the folder in which there is a folder for each picture in the making.
    _ = try get(workspace, id, "300")
    let watch = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    try #require(watch >= 0)
    defer { close(watch) }
    let work = workspace.library.appending("renditions/.on-demand/work").description
    try #require(inotify_add_watch(watch, work, UInt32(IN_CREATE)) >= 0)
    let runs = try (0..<64).map { _ in
      try workspace.program.start(["get", id, "--max-pixel-size", "301"])
    }
    let outcomes = try runs.map { try $0.wait(within: 120) }
    #expect(outcomes.allSatisfy { $0.exitCode == 0 })
    #expect(Set(outcomes.map(\.outputBytes)).count == 1)
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    var events = 0
    while true {
      let count = read(watch, &buffer, buffer.count)
      if count <= 0 { break }
      var offset = 0
      while offset < count {
        let length = buffer.withUnsafeBytes {
          $0.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self)
        }
        offset += 16 + Int(length)
        events += 1
      }
    }
    #expect(events == 1)
  }

  @Test("Pictures come while another process holds the library, and from one that can't be written")
  func withoutLock() throws {
    let (workspace, id) = try made()
    let holder = try workspace.program.start(["watch"])
    defer { kill(holder.process, SIGTERM) }
    try workspace.waitForHolder(holder)
    #expect(try reading(workspace, id, "200").width == 200)
    #expect(try kept(workspace).count == 1)
    holder.signal(SIGTERM)
    _ = try holder.wait(within: 60)
    guard Unprivileged.isPossible else { return }
    let whole = try get(workspace, id, "210")
    try Unprivileged.shell(
      "rm -r library/renditions/.on-demand; chmod -R a+rX .; chmod 0755 library", in: workspace)
    try Unprivileged.handOver(workspace)
    try Unprivileged.shell("chmod a-w library library/renditions", in: workspace)
    let outcome = try get(workspace, id, "210")
    #expect(outcome.outputBytes == whole.outputBytes)
    #expect(!workspace.exists(workspace.library.appending("renditions/.on-demand")))
  }

  @Test("An outdated picture is made anew, or handed out as such where that is asked for")
  func stale() throws {
    let (workspace, id) = try made()
    _ = try get(workspace, id, "300")
    let note = workspace.library.appending("renditions/.on-demand/maker")
    let text = String(decoding: try workspace.read(note), as: UTF8.self)
    let other = text.replacing(/"version":"[^"]*"/, with: #""version":"0.0.1""#)
    try #require(other != text)
    try workspace.write(Array(other.utf8), to: note)
    func isStale(_ words: BytePath...) throws -> Bool {
      let outcome = try workspace.program.run(
        ["get", id, "--max-pixel-size", "300", "--describe"] + words)
      try #require(outcome.exitCode == 0, "\(outcome.errors)")
      let line = outcome.outputBytes.prefix { $0 != UInt8(ascii: "\n") }
      let value = try JSONText.decode(JSONValue.self, from: line)
      #expect(value["bytes"]?.integer == outcome.outputBytes.count - line.count - 1)
      let isStale = try #require(value["isStale"])
      return isStale == true
    }
    #expect(try isStale("--accept-stale"))
    #expect(try isStale("--accept-stale"))
    #expect(try !isStale())
    #expect(try !isStale("--accept-stale"))
  }

  @Test("Nothing is left of a picture whose asset is deleted, and nobody can ask for it")
  func deleted() throws {
    let (workspace, id) = try made()
    _ = try get(workspace, id, "300")
    #expect(try workspace.run("rm", id).exitCode == 0)
    #expect(try kept(workspace).count == 1)
    #expect(try workspace.run("trash", "empty", "--yes").exitCode == 0)
    #expect(try kept(workspace).isEmpty)
    let gone = try get(workspace, id, "300", exit: 2)
    #expect(gone.outputBytes.isEmpty)
    #expect(try workspace.run("gc", "--yes").exitCode == 0)
  }

  @Test("A kill at any call that fills the cache leaves nothing torn that is handed out")
  func killed() async throws {
    let (workspace, id) = try made()
    let reference = try get(workspace, id, "300").outputBytes
    let shimFolder = try TemporaryFolder()
    let shim = try PreloadShim(in: shimFolder.path)
    let clean = workspace.program
    func reset() throws {
      try Unprivileged.shell("rm -r library/renditions/.on-demand", in: workspace)
    }
    try reset()
    let count = shimFolder.appending("count")
    workspace.program.environment.merge(shim.counting(into: count)) { $1 }
    _ = try get(workspace, id, "300")
    workspace.program = clean
    let calls = try #require(Int(String(decoding: try workspace.read(count), as: UTF8.self)))
    try #require(calls > 5)
    for strike in [PreloadShim.Strike.kill, .tear] {
      let places = FaultSelection.places(
        Array(1...calls), selecting: 12, for: "pictures on demand, \(strike)")
      for place in places {
        try reset()
        workspace.program.environment.merge(shim.striking(strike, at: place)) { $1 }
        let struck = try workspace.program.run(["get", id, "--max-pixel-size", "300"])
        workspace.program = clean
        #expect(struck.signal == 9 || struck.exitCode == 0, "\(strike) at \(place)")
        #expect(try get(workspace, id, "300").outputBytes == reference, "\(strike) at \(place)")
        #expect(try get(workspace, id, "300").outputBytes == reference, "\(strike) at \(place)")
        #expect(try kept(workspace).count == 1, "\(strike) at \(place)")
        let left = try workspace.files(
          below: workspace.library.appending("renditions/.on-demand/work"))
        #expect(left.isEmpty, "\(strike) at \(place)")
      }
    }
    try workspace.expectSound()
  }
}
