import Fixtures
import PipelineModel
import Testing
import Vips

@Suite("Thumbnails: alpha", .timeLimit(.minutes(2)))
struct ThumbnailAlphaTests {
  let run: PluginRun
  private let color = [200, 80, 40]

  init() throws { run = try PluginRun("thumbnail") }

  /// A PNG of narrow stripes: opaque ones of a colour, and transparent ones of a garish green.
  private func stripes() throws -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<240 {
      for x in 0..<360 {
        bytes += x % 6 < 3 ? color.map(UInt8.init) + [255] : [0, 255, 0, 0]
      }
    }
    return try Pictures.file(Picture.pixels(bytes, width: 360, height: 240, bands: 4), ".png")
  }

  @Test(
    "The colour of transparent pixels does not bleed into others",
    arguments: ["jpeg", "png", "webp", "avif"], ["fast", "exact"])
  func bleeding(format: String, scaling: String) throws {
    let thumbnails = try run.thumbnails(
      try stripes(),
      options: [
        "format": .string(format), "scaling": .string(scaling), "quality": 95,
        // The smaller is made from the larger by `fast`.
        "sizes": [["name": "large", "maxPixelSize": 60], ["name": "small", "maxPixelSize": 30]],
      ])
    for name in ["large", "small"] {
      let thumbnail = try #require(thumbnails[name])
      // Half of it lets the white through that it is read back on.
      let found = thumbnail.picture.color(x: 0.2...0.8, y: 0.2...0.8)
      let wanted = color.map { ($0 + 255) / 2 }
      #expect(Pictures.distance(found, wanted) <= 6, "\(name): \(found)")
    }
  }
}
