import Fixtures
import PipelineModel
import Testing

/// What becomes of pictures, through the whole program.
@Suite("Pictures", .timeLimit(.minutes(10)))
struct PictureTests {
  @Test("All eight orientations give the same upright picture")
  func orientations() throws {
    let workspace = try Workspace()
    for orientation in 1...8 {
      let picture = try Pictures.jpeg(
        width: 300, height: 200, exif: PicturesExif(orientation: orientation))
      try workspace.put(picture, as: BytePath("\(orientation).jpg"))
    }
    let events = try workspace.json("run")
    #expect(events.summary["imported"] == 8 && events.summary["jobsDone"] == 16)
    let upright = try workspace.rendition("preview", of: workspace.asset(named: "1.jpg"))
    #expect(upright.width == 128 && upright.height == 85)
    for (corner, color) in zip(upright.corners, Pictures.corners) {
      #expect(Pictures.distance(corner, color.map { Int($0) }) < 40)
    }
    for orientation in 2...8 {
      let asset = try workspace.asset(named: "\(orientation).jpg")
      #expect(asset["width"] == 300 && asset["height"] == 200)
      #expect(asset["orientation"]?.integer == orientation)
      for name in ["grid", "preview"] {
        let reference = try workspace.rendition(name, of: workspace.asset(named: "1.jpg"))
        let reading = try workspace.rendition(name, of: asset)
        #expect(reading.width == reference.width && reading.height == reference.height)
        #expect(reading.psnr(to: reference) > 25, "orientation \(orientation), \(name)")
      }
    }
    try workspace.expectSound()
  }

  @Test(
    "Half a picture is kept, fails for good and leaves no thumbnail", arguments: ["jpg", "png"])
  func truncated(suffix: String) throws {
    let workspace = try Workspace(stages: Workspace.stages(thumbnails: ["storage": "file"]))
    let whole =
      suffix == "jpg"
      ? try Pictures.jpeg() : try Pictures.file(Pictures.picture(), ".png")
    try workspace.put(Pictures.truncated(whole), as: BytePath("half.\(suffix)"))
    try workspace.put(whole, as: BytePath("whole.\(suffix)"))
    let events = try workspace.json("run", exit: 3)
    workspace.expectCountersAddUp(events)
    #expect(events.summary["imported"] == 2 && events.summary["jobsFailed"] == 1)
    let failure = try #require(try workspace.json("failed").first)
    #expect(failure["class"] == "permanent" && failure["stage"] == "thumbnails")
    #expect(failure["name"]?.string == "half.\(suffix)")
    #expect(try #require(failure["reason"]?.string).count > 10)
    let asset = try workspace.asset(named: "half.\(suffix)")
    #expect(asset["renditions"] == [] && asset["state"] == "failed")
    #expect(try workspace.files(below: "library/renditions").count == 2)
    #expect(try workspace.asset(named: "whole.\(suffix)")["renditions"]?.array?.count == 2)
    try workspace.expectSound()
    // A failure that is known is no news.
    #expect(try workspace.json("run").of("job") == [])
  }

  @Test("A text file named .jpg is imported, and its thumbnail skipped with a sentence")
  func textNamedPicture() throws {
    let workspace = try Workspace()
    try workspace.put("This is no picture at all.\n", as: "letter.jpg")
    let outcome = try workspace.run("run", "--json")
    let events = try outcome.events()
    #expect(outcome.exitCode == 0 && events.outcome("letter.jpg") == "imported")
    let job = try #require(events.of("job").first { $0["stage"] == "thumbnails" })
    #expect(job["outcome"] == "skipped")
    #expect(try #require(job["reason"]?.string).contains("text/plain"))
    let asset = try workspace.asset(named: "letter.jpg")
    #expect(asset["mediaType"] == "text/plain" && asset["width"] == .null)
    try workspace.expectSound()
  }

  @Test("Names tell two assets of the same bytes when they were taken, and explain tells of skips")
  func names() throws {
    let stages: JSONValue = [
      [
        "name": "identify", "plugin": "identify",
        "options": ["capturedFromName": ["IMG_{yyyy}{MM}{dd}*"]],
      ],
      ["name": "thumbnails", "plugin": "thumbnail"],
    ]
    let workspace = try Workspace(stages: stages)
    try workspace.configure(
      sources: [["path": "inbox", "settle": "0ms", "mode": "move", "duplicates": "asset"]],
      stages: stages)
    for name: BytePath in ["IMG_20240506.txt", "IMG_20230405.txt", "other.txt"] {
      try workspace.put("some words", as: name)
    }
    try workspace.json("run")
    for (name, day) in [("IMG_20240506.txt", "2024-05-06"), ("IMG_20230405.txt", "2023-04-05")] {
      let asset = try workspace.asset(named: name)
      #expect(asset["capturedAt"]?.string == day && asset["capturedFrom"] == "name")
    }
    let other = try workspace.asset(named: "other.txt")
    #expect(other["capturedAt"] == .null && other["capturedFrom"] == .null)
    let said = try workspace.run("explain", BytePath(try #require(other["id"]?.string))).output
    #expect(said.contains("is done, but 1 of 2 stages skipped it"), "\(said)")
    let listed = try workspace.run("list").output.split(separator: "\n")
    #expect(
      listed.allSatisfy {
        $0.hasSuffix("\tskipped by 1 stage, no thumbnail: kind not supported")
      }, "\(listed)")
  }

  @Test("Thumbnails say nothing of camera, place or time")
  func metadata() throws {
    let workspace = try Workspace()
    try workspace.put(try Pictures.jpeg(width: 400, height: 300), as: "camera.jpg")
    try workspace.json("run")
    let asset = try workspace.asset(named: "camera.jpg")
    #expect(asset["capturedAt"] == "2024-05-06T07:08:09")
    let camera = Array(PicturesExif.camera.utf8)
    let id = BytePath(try #require(asset["id"]?.string))
    #expect(try workspace.run("get", id).outputBytes.contains(camera))
    for name in ["grid", "preview"] {
      let reading = try workspace.rendition(name, of: asset)
      #expect(reading.exif == nil)
      #expect(!reading.fields.contains { $0.hasPrefix("exif") || $0.hasPrefix("xmp") })
      let bytes = try workspace.run("get", id, "--rendition", BytePath(name)).outputBytes
      #expect(!bytes.contains(camera))
    }
  }

  @Test("A picture smaller than a size is not enlarged")
  func small() throws {
    let workspace = try Workspace(stages: Workspace.stages(sizes: ["grid": 256]))
    try workspace.put(try Pictures.jpeg(width: 100, height: 60), as: "small.jpg")
    try workspace.json("run")
    let reading = try workspace.rendition("grid", of: workspace.asset(named: "small.jpg"))
    #expect(reading.width == 100 && reading.height == 60)
  }

  @Test("Transparent parts are white in a JPEG")
  func transparency() throws {
    let workspace = try Workspace()
    try workspace.put(try Pictures.alphaPNG([20, 120, 40]), as: "logo.png")
    try workspace.json("run")
    let reading = try workspace.rendition("preview", of: workspace.asset(named: "logo.png"))
    #expect(reading.bands == 3)
    #expect(Pictures.distance(reading.corners[0], [20, 120, 40]) < 8)
    #expect(Pictures.distance(reading.corners[1], [255, 255, 255]) < 8)
  }
}
