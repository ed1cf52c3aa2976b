import Fixtures
import Foundation
import PipelineModel
import PipelinePlugin
import Testing
import Vips

@Suite("Thumbnails: animations", .timeLimit(.minutes(2)))
struct ThumbnailAnimationTests {
  let run: PluginRun
  private let colors: [[UInt8]] = [[200, 10, 10], [10, 10, 200], [10, 200, 10]]

  init() throws { run = try PluginRun("thumbnail") }

  private let sizes: JSONValue = [
    ["name": "moving", "maxPixelSize": 60, "animated": true],
    ["name": "still", "maxPixelSize": 100],
  ]

  /// The moving thumbnail of a file, with all its frames one below the other.
  private func moving(_ bytes: [UInt8], _ options: [String: JSONValue] = [:]) throws -> (
    rendition: PluginRendition, frames: Picture
  ) {
    var all = options
    all["sizes"] = all["sizes"] ?? sizes
    guard case .done(_, let renditions) = try run.process(bytes, options: .object(all)) else {
      throw Unexpected("the job is not done")
    }
    let rendition = try #require(renditions.first { $0.name == "moving" })
    #expect(rendition.mediaType == "image/webp" && rendition.path == "moving.webp")
    let made = try Data(contentsOf: run.output.appending(path: rendition.path))
    let source = try PictureSource(bytes: Array(made))
    let loader = try source.loader()
    let count = try Picture.load(source, as: loader).pages
    return (rendition, try Picture.loadFrames(source, as: loader, count: count).rendered())
  }

  private func color(of frame: Int, in frames: Picture, height: Int) throws -> [Int] {
    let middle = try frames.cropped(
      x: frames.width / 2, y: frame * height + height / 2, width: 1, height: 1)
    return try middle.rendered().pixelBytes().prefix(3).map { Int($0) }
  }

  @Test(
    "An animated picture gives an animated WebP of all frames, and stills otherwise",
    arguments: [".gif", ".webp"])
  func frames(suffix: String) throws {
    let bytes = try Pictures.frames(colors, width: 120, height: 80, as: suffix)
    let made = try moving(bytes)
    #expect(made.rendition.width == 60 && made.rendition.height == 40)
    #expect(made.frames.width == 60 && made.frames.height == 120)
    #expect(made.frames.integers("delay") == [100, 100, 100])
    for (index, wanted) in colors.enumerated() {
      let found = try color(of: index, in: made.frames, height: 40)
      #expect(Pictures.distance(found, wanted.map { Int($0) }) < 24, "\(index): \(found)")
    }
    let still = try Data(contentsOf: run.output.appending(path: "still.jpg"))
    #expect(try PicturesReading(Array(still)).height == 67)
  }

  @Test("What does not move stays a still in its format")
  func stills() throws {
    for bytes in [
      try Pictures.jpeg(), try Pictures.frames([colors[0]], as: ".gif"),
      try Pictures.frames(colors, as: ".tif"),
    ] {
      let thumbnail = try run.thumbnails(bytes, options: ["sizes": sizes])["moving"]
      #expect(thumbnail?.rendition.mediaType == "image/jpeg")
    }
  }

  @Test("Of many frames some are left out, and the others are shown for longer")
  func many() throws {
    let bytes = try Pictures.frames(
      (0..<250).map { [UInt8($0), 100, UInt8(255 - $0)] }, width: 16, height: 16, as: ".webp")
    let made = try moving(bytes)
    let delays = made.frames.integers("delay")
    // The encoder joins frames that look the same.
    #expect((20...100).contains(delays.count) && made.frames.height == delays.count * 16)
    #expect(delays.reduce(0, +) == 25_000)
  }

  @Test("A region, and what is cut behind the first frame, are heeded")
  func partial() throws {
    let bytes = try Pictures.frames(colors, width: 120, height: 80, as: ".gif")
    let part = try moving(bytes, ["region": [10, 10, 60, 20]])
    #expect(part.rendition.width == 60 && part.rendition.height == 20)
    #expect(part.frames.height == 60)
    let cut = try run.process(
      Array(bytes.prefix(bytes.count * 3 / 4)), options: ["sizes": sizes])
    guard case .done(_, let renditions) = cut else { throw Unexpected("\(cut)") }
    #expect(renditions.map(\.mediaType) == ["image/jpeg", "image/jpeg"])
    #expect(renditions.allSatisfy { $0.from == "damaged" })
  }

  @Test("A moving thumbnail needs more memory")
  func estimate() throws {
    let identify = try PluginRun("identify")
    let bytes = try Pictures.frames(colors, width: 120, height: 80, as: ".gif")
    let facts = ["identify": try identify.facts(bytes)]
    func estimate(_ isAnimated: Bool) throws -> Int {
      let sizes: JSONValue = [
        ["name": "a", "maxPixelSize": 100, "animated": .bool(isAnimated)]
      ]
      return try #require(
        try run.backend.makeInstance(options: ["sizes": sizes]).estimate(facts: facts))
    }
    #expect(try estimate(true) - estimate(false) == 3 * 100 * 100 * 4 * 3)
  }
}
