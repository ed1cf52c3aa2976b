import Fixtures
import PipelineModel
import PipelinePlugin
import Testing

/// Parts of pictures.
@Suite("Thumbnails: regions", .timeLimit(.minutes(2)))
struct ThumbnailRegionTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  private func region(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> JSONValue {
    [.integer(x), .integer(y), .integer(width), .integer(height)]
  }

  /// The rows of a part of a decoded picture.
  private func part(
    of picture: PicturesReading, _ x: Int, _ y: Int, _ width: Int, _ height: Int
  ) -> [UInt8] {
    (y..<y + height).flatMap { row in
      let start = (row * picture.width + x) * picture.bands
      return picture.pixels[start..<start + width * picture.bands]
    }
  }

  @Test(
    "A region is cut out of the upright picture, whatever its orientation", arguments: 1...8,
    ["fast", "exact"])
  func orientations(orientation: Int, scaling: String) throws {
    let bytes = try Pictures.jpeg(
      width: 300, height: 200, exif: PicturesExif(orientation: orientation))
    let options: [String: JSONValue] = ["format": "png", "scaling": .string(scaling)]
    let whole = try run.thumbnail(bytes, maxPixelSize: 1000, options: options).picture
    #expect(whole.width == 300 && whole.height == 200)
    let (x, y, width, height) = (17, 31, 90, 60)
    let made = try run.thumbnail(
      bytes, maxPixelSize: 1000,
      options: options.merging(["region": region(x, y, width, height)]) { $1 }
    ).picture
    #expect(made.width == width && made.height == height)
    #expect(made.pixels == part(of: whole, x, y, width, height))
  }

  @Test("As stored, if the picture is not rotated")
  func stored() throws {
    let bytes = try Pictures.jpeg(width: 300, height: 200, exif: PicturesExif(orientation: 6))
    let options: [String: JSONValue] = ["format": "png", "transform": false]
    let whole = try run.thumbnail(bytes, maxPixelSize: 1000, options: options).picture
    let made = try run.thumbnail(
      bytes, maxPixelSize: 1000,
      options: options.merging(["region": region(100, 200, 80, 90)]) { $1 }
    ).picture
    #expect(made.pixels == part(of: whole, 100, 200, 80, 90))
  }

  @Test("It is made smaller after it is cut out, never larger, and all sizes show it")
  func scaled() throws {
    let bytes = try Pictures.jpeg(width: 800, height: 600, exif: PicturesExif(orientation: 6))
    let made = try run.thumbnails(
      bytes,
      options: [
        "region": region(100, 200, 400, 200),
        "sizes": [
          ["name": "large", "maxPixelSize": 1000], ["name": "small", "maxPixelSize": 100],
        ],
      ])
    let (large, small) = (try #require(made["large"]), try #require(made["small"]))
    #expect(large.picture.width == 400 && large.picture.height == 200)
    #expect(small.picture.width == 100 && small.picture.height == 50)
    #expect(large.rendition.width == 400 && small.rendition.height == 50)
    for (one, other) in zip(large.picture.corners, small.picture.corners) {
      #expect(Pictures.distance(one, other) < 40)
    }
  }

  @Test("What lies outside the picture is left out; a region that lies outside fails for good")
  func outside() throws {
    let bytes = try Pictures.jpeg(width: 300, height: 200)
    let made = try run.thumbnail(
      bytes, maxPixelSize: 1000, options: ["region": region(250, 150, 1000, 1000)]
    ).picture
    #expect(made.width == 50 && made.height == 50)
    for place in [region(300, 0, 10, 10), region(0, 200, 10, 10)] {
      let failure = try run.failure(bytes, options: ["region": place])
      #expect(failure.class == .permanent)
      #expect(failure.reason.contains("lies outside the picture, which has 300 × 200 pixels"))
    }
  }

  @Test(
    "Regions that none can be are refused",
    arguments: [
      ("[-1,0,1,1]", "x is -1"), ("[0,0,0,1]", "width is 0"), ("[0,0,1]", "x, y, width and height"),
      ("[0,16777217,1,1]", "y is 16777217"), ("[0,0,1,1,1]", "x, y, width and height"),
      (#"{"x":0}"#, "region"),
    ])
  func refused(text: String, words: String) throws {
    let options: JSONValue = ["region": try JSONText.decode(JSONValue.self, from: text)]
    let backend = run.backend
    let failure = try #require(throws: PluginFailure.self) {
      try backend.makeInstance(options: options)
    }
    #expect(failure.reason.contains(words), "\(failure.reason)")
  }
}
