import Fixtures
import PipelineModel
import Testing
import Vips

/// `fast`, which resamples planes, against `exact`, which does as libvips does.
@Suite("Thumbnails: scaling", .timeLimit(.minutes(2)))
struct ThumbnailScalingTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  private func expectAlike(
    _ bytes: [UInt8], longest: Int = 256, above decibels: Double = 35, _ comment: Comment
  ) throws {
    func made(_ scaling: String) throws -> PicturesReading {
      try run.thumbnail(
        bytes, maxPixelSize: longest, options: ["format": "png", "scaling": .string(scaling)]
      ).picture
    }
    let (fast, exact) = (try made("fast"), try made("exact"))
    #expect(fast.width == exact.width && fast.height == exact.height, comment)
    #expect(fast.psnr(to: exact) > decibels, comment)
  }

  @Test(
    "Both give the same picture, from just above the size to many times it",
    arguments: [(257, 200), (400, 300), (801, 599), (1600, 1200), (2300, 1700), (300, 900)])
  func sizes(width: Int, height: Int) throws {
    let picture = try Pictures.picture(width: width, height: height)
    try expectAlike(try Pictures.file(picture, ".png"), "PNG of \(width) × \(height)")
    try expectAlike(try Pictures.jpeg(width: width, height: height), "JPEG")
    try expectAlike(
      try Pictures.jpeg(width: width, height: height, progressive: true), "progressive JPEG")
  }

  @Test("Both give the same picture of one band, and of four without alpha")
  func bands() throws {
    let picture = try Pictures.picture(width: 1200, height: 900)
    try expectAlike(try Pictures.file(picture.converted(to: .grey), ".png"), "grey")
    try expectAlike(try Pictures.file(picture.converted(to: .grey), ".jpg"), "grey JPEG")
    try expectAlike(
      try Pictures.file(picture.colorManaged(to: "cmyk", assuming: "srgb"), ".tif"), above: 30,
      "CMYK")
  }

  @Test("Planes that would take too much memory are averaged first, or left to libvips")
  func large() throws {
    // 75 MB of values, of which an average of two by two is left; and 27 MB.
    let small = try Pictures.picture(width: 600, height: 420)
    for (width, height) in [(6000, 4200), (3600, 2500)] {
      let picture = try small.resized(width: width, height: height)
      try expectAlike(
        try Pictures.file(picture, ".tif"), longest: 1400, "\(width) × \(height)")
    }
  }

  @Test(
    "A picture of a single row or column stays one", arguments: [(3000, 1), (1, 3000), (700, 3)])
  func thin(width: Int, height: Int) throws {
    let picture = try Pictures.picture(width: width, height: height)
    let thumbnail = try run.thumbnail(try Pictures.file(picture, ".png"))
    #expect(max(thumbnail.picture.width, thumbnail.picture.height) == 256)
    #expect(min(thumbnail.picture.width, thumbnail.picture.height) == 1)
  }
}
