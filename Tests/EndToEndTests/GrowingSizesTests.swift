import Fixtures
import PipelineModel
import Testing

/// A size more, or less, in the options of a thumbnail stage.
@Suite("Growing sizes", .timeLimit(.minutes(2)))
struct GrowingSizesTests {
  private let workspace: Workspace

  init() throws {
    workspace = try Workspace()
    try workspace.put(try Pictures.jpeg(width: 640, height: 480), as: "a.jpg")
  }

  /// Runs with sizes, and returns the digests of the thumbnails by name.
  private func run(
    _ sizes: [String: Int], storage: String, at location: SourceLocation = #_sourceLocation
  ) throws -> [String: String] {
    try workspace.configure(
      stages: Workspace.stages(sizes: sizes, thumbnails: ["storage": .string(storage)]))
    try workspace.json("run", at: location)
    let renditions = try workspace.asset(named: "a.jpg")["renditions"]?.array ?? []
    #expect(renditions.allSatisfy { $0["stale"] == false }, sourceLocation: location)
    return Dictionary(
      uniqueKeysWithValues: renditions.map {
        ($0["name"]?.string ?? "", $0["digest"]?.string ?? "")
      })
  }

  private func isWhole(at location: SourceLocation = #_sourceLocation) throws {
    #expect(try workspace.json("verify").of("problem") == [], sourceLocation: location)
  }

  @Test(
    "Only the new size is made, and one that goes costs nothing", arguments: ["file", "database"])
  func sizes(storage: String) throws {
    let two = try run(["grid": 64, "preview": 128], storage: storage)
    #expect(two.keys.sorted() == ["grid", "preview"])
    try isWhole()
    let three = try run(["grid": 64, "preview": 128, "large": 512], storage: storage)
    #expect(three.filter { $0.key != "large" } == two)
    #expect(three.count == 3)
    try isWhole()
    let id = BytePath(try #require(try workspace.asset(named: "a.jpg")["id"]?.string))
    let one = try run(["preview": 128], storage: storage)
    #expect(one == two.filter { $0.key == "preview" })
    let jobs = try workspace.json("show", id).first?["jobs"]?.array ?? []
    let job = try #require(jobs.first { $0["stage"] == "thumbnails" })
    #expect(job["state"] == "done" && job["seconds"]?.double == 0, "\(job)")
    try isWhole()
    let garbage = try #require(try workspace.json("gc", "--dry-run").first)
    #expect(garbage["files"] == 0 && garbage["renditions"] == 0, "\(garbage)")
    // A fresh one is made as ever, with all sizes.
    try workspace.json("rebuild-catalog")
    #expect(try run(["preview": 128], storage: storage).count == 1)
    // In PostgreSQL the file of a catalog that is gone has another name.
    if TestServers.areAsked {
      let garbage = try workspace.json("gc", "--yes").of("garbage").first
      #expect(garbage?["files"]?.integer == (storage == "file" ? 1 : 0))
    }
    try isWhole()
  }

  /// The facts of an asset's thumbnails.
  private func facts(_ name: String) throws -> [String: JSONValue] {
    let id = BytePath(try #require(try workspace.asset(named: name)["id"]?.string))
    return try #require(
      try workspace.json("show", id).first?["facts"]?["thumbnails"]?.object, "no facts of \(name)")
  }

  private func run(_ sizes: JSONValue) throws {
    try workspace.configure(
      stages: [["name": "thumbnails", "plugin": "thumbnail", "options": ["sizes": sizes]]])
    try workspace.json("run")
    try isWhole()
  }

  @Test(
    "A sheet that is added is made of films alone, with facts that go with it",
    .enabled(if: Film.canBeMade, "ffmpeg is not installed"),
    .enabled(if: KindTests.has("video"), "the decoder of films is left out"))
  func sheets() throws {
    let film = try Film(
      "film.mp4", "-f lavfi -i testsrc2=s=160x120:r=10:d=4 -c:v libx264 -pix_fmt yuv420p -g 5")
    try workspace.put(try film.bytes, as: "film.mp4")
    let grid: JSONValue = ["name": "grid", "maxPixelSize": 100]
    let sheet: JSONValue = ["name": "sheet", "maxPixelSize": 40, "sprites": 4]
    let long: JSONValue = ["name": "long", "maxPixelSize": 40, "sprites": 9]
    try run([grid])
    let placeholders = try ["a.jpg": facts("a.jpg"), "film.mp4": facts("film.mp4")]
    #expect(placeholders.values.allSatisfy { $0["dominantColor"] != nil && $0["sprites"] == nil })
    func sprites(_ name: String) throws -> [String: Int] {
      let facts = try facts(name)
      #expect(facts.filter { $0.key != "sprites" } == placeholders[name])
      return facts["sprites"]?.object?.mapValues { $0["times"]?.array?.count ?? 0 } ?? [:]
    }
    func names(_ name: String) throws -> Set<String> {
      let renditions = try workspace.asset(named: name)["renditions"]?.array ?? []
      return Set(renditions.compactMap { $0["name"]?.string })
    }
    try run([grid, sheet])
    #expect(try sprites("film.mp4") == ["sheet": 4])
    #expect(try names("film.mp4") == ["grid", "sheet"])
    try run([grid, sheet, long])
    #expect(try sprites("film.mp4") == ["sheet": 4, "long": 9])
    try run([grid, long])
    #expect(try sprites("film.mp4") == ["long": 9])
    #expect(try names("film.mp4") == ["grid", "long"])
    #expect(try sprites("a.jpg").isEmpty)
    #expect(try names("a.jpg") == ["grid"])
    // What is left was made once, and a picture without a sheet was not asked for one again.
    for name in ["a.jpg", "film.mp4"] {
      let id = BytePath(try #require(try workspace.asset(named: name)["id"]?.string))
      let jobs = try workspace.json("show", id).first?["jobs"]?.array ?? []
      #expect(jobs.first { $0["stage"] == "thumbnails" }?["seconds"]?.double == 0, "\(jobs)")
    }
    // The same as if all of it had been made at once.
    let grown = try [facts("a.jpg"), facts("film.mp4")]
    try workspace.json("rebuild-catalog")
    try run([grid, long])
    #expect(try [facts("a.jpg"), facts("film.mp4")] == grown)
  }
}
