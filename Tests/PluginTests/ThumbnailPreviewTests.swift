import Fixtures
import PipelineModel
import PipelinePlugin
import Testing
import Vips

@Suite("Thumbnails: previews in HEIF", .timeLimit(.minutes(2)))
struct ThumbnailPreviewTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  /// Which picture a thumbnail shows tells its colour.
  private func heic(
    thumbnail size: (width: Int, height: Int) = (240, 160), turns: UInt8? = nil,
    thumbnailTurns: UInt8? = nil, turnsFirst: Bool = false
  ) throws -> [UInt8] {
    try Pictures.heic(
      try Pictures.plain([200, 40, 40], width: 720, height: 480),
      thumbnail: try Pictures.plain([40, 60, 200], width: size.width, height: size.height),
      turns: turns, thumbnailTurns: thumbnailTurns, turnsFirst: turnsFirst)
  }

  private func shows(
    _ bytes: [UInt8], maxPixelSize: Int = 200, options: [String: JSONValue] = [:]
  ) throws -> String? {
    var all = options
    all["fromImage"] = all["fromImage"] ?? "ifAbsent"
    let thumbnail = try run.thumbnail(bytes, maxPixelSize: maxPixelSize, options: all)
    let color = thumbnail.picture.color(x: 0.2...0.8, y: 0.2...0.8)
    let isPreview = Pictures.distance(color, [40, 60, 200]) < 30
    #expect(isPreview || Pictures.distance(color, [200, 40, 40]) < 30, "\(color)")
    #expect(thumbnail.rendition.from == (isPreview ? "preview" : "image"))
    return isPreview ? "preview" : "picture"
  }

  @Test("A thumbnail in the file is used if it is large enough and options allow it")
  func used() throws {
    let bytes = try heic()
    #expect(try shows(bytes) == "preview")
    #expect(try shows(bytes, maxPixelSize: 240) == "preview")
    #expect(try shows(bytes, maxPixelSize: 241) == "picture")
    for options: [String: JSONValue] in [
      ["fromImage": "always"], ["strip": false], ["region": [0, 0, 700, 400]],
    ] {
      #expect(try shows(bytes, options: options) == "picture", "\(options)")
    }
  }

  @Test("It must have the picture's shape within a pixel")
  func shape() throws {
    #expect(try shows(try heic(thumbnail: (242, 162))) == "preview")
    #expect(try shows(try heic(thumbnail: (240, 164))) == "picture")
    #expect(try shows(try heic(thumbnail: (720, 480))) == "picture")
  }

  @Test("It must be turned as the picture is")
  func turned() throws {
    #expect(try shows(try heic(turns: 1, thumbnailTurns: 1)) == "preview")
    // Half a turn leaves the shape as it is.
    #expect(try shows(try heic(turns: 2)) == "picture")
    #expect(try shows(try heic(thumbnailTurns: 2)) == "picture")
    #expect(try shows(try heic(turns: 2, thumbnailTurns: 0)) == "picture")
  }

  @Test("Turns that come before the size count after it, as in files of Sony's cameras")
  func turnedFirst() throws {
    let bytes = try heic(turns: 1, thumbnailTurns: 1, turnsFirst: true)
    for (options, shown) in [([:], "preview"), (["fromImage": "always"], "picture")]
      as [([String: JSONValue], String)]
    {
      #expect(try shows(bytes, options: options) == shown)
      let made = try run.thumbnail(bytes, maxPixelSize: 120, options: options).picture
      #expect(made.width == 80 && made.height == 120)
    }
    let facts = try PluginRun("identify").facts(bytes)
    #expect(facts["width"] == 480 && facts["height"] == 720 && facts["problem"] == nil)
  }

  @Test("It hides neither a lost picture nor one whose end is unknown")
  func lost() throws {
    let bytes = try heic()
    // The thumbnail lies before the picture.
    let data = try #require(bytes.indices.first { bytes[$0...].starts(with: "mdat".utf8) })
    var open = bytes
    open.replaceSubrange((data - 4)..<data, with: [0, 0, 0, 0])
    #expect(try shows(open) == "picture")
    _ = try run.failure(
      Array(bytes.dropLast(20)),
      options: [
        "fromImage": "ifAbsent",
        "sizes": [
          ["name": "one", "maxPixelSize": 200]
        ],
      ])
  }
}
