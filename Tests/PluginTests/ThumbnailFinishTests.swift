import Fixtures
import PipelineModel
import PipelinePlugin
import PluginHost
import Testing
import Vips

/// Exact sizes, turns and tones.
@Suite("Thumbnails: exact sizes, turns and tones", .timeLimit(.minutes(2)))
struct ThumbnailFinishTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  private func made(
    _ bytes: [UInt8], _ members: [String: JSONValue], _ options: [String: JSONValue] = [:]
  ) throws -> Thumbnail {
    let size: [String: JSONValue] = ["name": "one", "maxPixelSize": 1000]
    var options = options.merging(["format": "png"]) { $1 }
    options["sizes"] = [.object(size.merging(members) { $1 })]
    return try #require(try run.thumbnails(bytes, options: .object(options))["one"])
  }

  @Test(
    "A picture gets exactly the size that was asked for, larger or smaller, upright",
    arguments: 1...8, ["fast", "exact"])
  func exact(orientation: Int, scaling: String) throws {
    let bytes = try Pictures.jpeg(
      width: 300, height: 200, exif: PicturesExif(orientation: orientation))
    let whole = try made(bytes, [:]).picture
    for (width, height) in [(90, 120), (301, 150), (20, 400), (600, 400), (1, 1)] {
      let thumbnail = try made(
        bytes, ["width": .integer(width), "height": .integer(height)],
        ["scaling": .string(scaling)])
      #expect(thumbnail.picture.width == width && thumbnail.picture.height == height)
      #expect(thumbnail.rendition.width == width && thumbnail.rendition.height == height)
      guard min(width, height) >= 20 else { continue }
      for (one, other) in zip(whole.corners, thumbnail.picture.corners) {
        #expect(Pictures.distance(one, other) < 40, "\(width) × \(height)")
      }
    }
    let part = try made(
      bytes, ["width": 50, "height": 80], ["region": [20, 30, 100, 40]]
    ).picture
    #expect(part.width == 50 && part.height == 80)
  }

  @Test("Other sizes are not made of a stretched one", arguments: ["fast", "exact"])
  func beside(scaling: String) throws {
    let sizes: JSONValue = [
      ["name": "strip", "maxPixelSize": 1000, "width": 300, "height": 2],
      ["name": "avatar", "maxPixelSize": 1000, "width": 30, "height": 30],
      ["name": "plain", "maxPixelSize": 150],
    ]
    let made = try run.thumbnails(
      Pictures.jpeg(width: 300, height: 200),
      options: ["format": "png", "scaling": .string(scaling), "sizes": sizes])
    let alone = try run.thumbnails(
      Pictures.jpeg(width: 300, height: 200),
      options: [
        "format": "png", "scaling": .string(scaling),
        "sizes": [["name": "plain", "maxPixelSize": 150]],
      ])
    #expect(made.count == 3 && made["plain"]?.bytes == alone["plain"]?.bytes)
  }

  @Test(
    "Several stretched sizes are made, whatever the picture's format", arguments: [".png", ".jpg"])
  func several(suffix: String) throws {
    let sizes: JSONValue = [
      ["name": "one", "maxPixelSize": 1000, "width": 200, "height": 60],
      ["name": "two", "maxPixelSize": 1000, "width": 30, "height": 90],
    ]
    let picture = try Pictures.picture(width: 300, height: 200)
    let made = try run.thumbnails(Pictures.file(picture, suffix), options: ["sizes": sizes])
    #expect(made["one"]?.picture.width == 200 && made["two"]?.picture.height == 90)
  }

  @Test("Transparent pictures are stretched, too")
  func alpha() throws {
    let bytes = try Pictures.alphaPNG([200, 30, 30], width: 120, height: 80)
    let thumbnail = try made(bytes, ["width": 60, "height": 160])
    #expect(thumbnail.picture.width == 60 && thumbnail.picture.height == 160)
    let opaque = try made(bytes, ["width": 200, "height": 20], ["format": "jpeg"])
    #expect(opaque.picture.width == 200 && opaque.picture.height == 20)
    let bitonal = try made(bytes, ["tones": "bitonal"])
    #expect(bitonal.picture.bands == 1)
  }

  @Test(
    "Pictures are mirrored, and then turned clockwise",
    arguments: [0, 90, 180, 270], [false, true])
  func turned(rotation: Int, isMirrored: Bool) throws {
    let bytes = try Pictures.jpeg(width: 60, height: 40, exif: PicturesExif(orientation: 6))
    let whole = try made(bytes, [:]).picture
    let thumbnail = try made(
      bytes, ["rotation": .integer(rotation), "mirrored": .bool(isMirrored)])
    let turned = thumbnail.picture
    let isQuarter = rotation % 180 == 90
    #expect(turned.width == (isQuarter ? 40 : 60) && turned.height == (isQuarter ? 60 : 40))
    #expect(thumbnail.rendition.width == turned.width)
    for y in 0..<40 {
      for x in 0..<60 {
        let shown = isMirrored ? 59 - x : x
        let (toX, toY) =
          switch rotation {
          case 90: (39 - y, shown)
          case 180: (59 - shown, 39 - y)
          case 270: (y, 59 - shown)
          default: (shown, y)
          }
        let from = (y * 60 + x) * 3
        let to = (toY * turned.width + toX) * 3
        guard whole.pixels[from..<from + 3].elementsEqual(turned.pixels[to..<to + 3]) else {
          Issue.record("\(x),\(y) is not at \(toX),\(toY)")
          return
        }
      }
    }
  }

  @Test("Grey has one value a pixel, and bitonal black and white only")
  func tones() throws {
    let bytes = try Pictures.jpeg(width: 60, height: 40)
    let gray = try made(bytes, ["tones": "gray"]).picture
    #expect(gray.bands == 1 && Set(gray.pixels).count > 20)
    let bitonal = try made(bytes, ["tones": "bitonal"]).picture
    #expect(bitonal.bands == 1 && Set(bitonal.pixels) == [0, 255])
    let jpeg = try made(bytes, ["tones": "gray", "format": "jpeg"]).picture
    #expect(jpeg.bands == 1 && jpeg.loader == .jpeg)
  }

  @Test(
    "What contradicts itself is refused",
    arguments: [
      (#"{"sizes":[{"name":"a","maxPixelSize":9,"width":5}]}"#, "belong together"),
      (#"{"sizes":[{"name":"a","maxPixelSize":9,"width":0,"height":5}]}"#, "width is 0"),
      (#"{"sizes":[{"name":"a","maxPixelSize":9,"width":5,"height":16385}]}"#, "height is 16385"),
      (#"{"sizes":[{"name":"a","maxPixelSize":9,"rotation":45}]}"#, "rotation is 45"),
      (#"{"sizes":[{"name":"a","maxPixelSize":9,"tones":"sepia"}]}"#, "sepia"),
      (#"{"sizes":[{"name":"a","maxPixelSize":9,"animated":true,"rotation":90}]}"#, "animated"),
      (#"{"colorSpace":"p3","sizes":[{"name":"a","maxPixelSize":9,"tones":"gray"}]}"#, "srgb"),
    ])
  func refused(options: String, words: String) throws {
    let value = try JSONText.decode(JSONValue.self, from: options)
    let backend = run.backend
    let failure = try #require(throws: PluginFailure.self) {
      try backend.makeInstance(options: value)
    }
    #expect(failure.reason.contains(words), "\(failure.reason)")
  }
}
