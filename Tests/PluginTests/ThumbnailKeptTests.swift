import Fixtures
import Foundation
import PipelineModel
import PipelinePlugin
import Testing

/// A size that is added later, made of a larger thumbnail that is kept.
@Suite("Thumbnails of kept thumbnails")
struct ThumbnailKeptTests {
  private let run: PluginRun
  private let kept: URL

  init() throws {
    run = try PluginRun("thumbnail")
    kept = run.folder.appending(path: "kept")
    try FileManager.default.createDirectory(at: kept, withIntermediateDirectories: true)
  }

  /// The options of a stage with two sizes, of which the larger one is kept.
  private static func options(
    large: [String: JSONValue] = [:], small: [String: JSONValue] = [:],
    _ others: [String: JSONValue] = [:]
  ) -> JSONValue {
    let sizes: [JSONValue] = [
      .object(["name": "large", "maxPixelSize": 400].merging(large) { $1 }),
      .object(["name": "small", "maxPixelSize": 100].merging(small) { $1 }),
    ]
    return .object(others.merging(["sizes": .array(sizes)]) { $1 })
  }

  /// Writes a thumbnail as an earlier job left it.
  private func keep(
    _ name: String = "large", side: Int = 400, suffix: String = ".jpg", from: String? = "image",
    color: [UInt8] = [200, 40, 90]
  ) throws -> PluginRequest.Kept {
    let height = side * 2 / 3
    let file = kept.appending(path: name + suffix)
    let picture = try Pictures.plain(color, width: side, height: height)
    try Data(Pictures.file(picture, suffix)).write(to: file)
    let type = suffix == ".jpg" ? "image/jpeg" : "image/png"
    return PluginRequest.Kept(
      name: name, mediaType: type, width: side, height: height, from: from, path: file.path)
  }

  private static let facts: [String: JSONValue] = [
    "identify": ["mediaType": "image/jpeg", "width": 2400, "height": 1600, "alpha": false]
  ]

  /// Makes the small size of a file that can't be decoded, so that only a kept thumbnail will do.
  private func make(
    _ kept: [PluginRequest.Kept], _ options: JSONValue = options(), wanted: [String] = ["small"],
    facts: [String: JSONValue] = facts
  ) throws -> [PluginRendition]? {
    let result = try run.process(
      Array("no picture".utf8), options: options, wanted: wanted, kept: kept, facts: facts)
    switch result {
    case .done(let facts, let renditions):
      #expect(facts == [:])
      return renditions
    case .failed(let failure):
      #expect(failure.class == .permanent)
      return nil
    case .skipped: throw Unexpected("\(result)")
    }
  }

  private func color(_ rendition: PluginRendition) throws -> [Int] {
    let bytes = try Data(contentsOf: run.output.appending(path: rendition.path))
    return try PicturesReading(Array(bytes)).corners[0]
  }

  @Test("A new size is made of the largest kept thumbnail, and says what that was made of")
  func reduced() throws {
    let large = try keep()
    let larger = try keep("larger", side: 800, from: "preview", color: [20, 160, 60])
    var options = Self.options().object ?? [:]
    options["sizes"] = .array(
      (options["sizes"]?.array ?? []) + [["name": "larger", "maxPixelSize": 800]])
    let made = try #require(try make([large, larger], .object(options)))
    #expect(made.map(\.name) == ["small"])
    #expect(made[0].width == 100 && made[0].height == 67 && made[0].from == "preview")
    #expect(Pictures.distance(try color(made[0]), [20, 160, 60]) < 24)
  }

  @Test("The size is that of the original's shape, which the kept thumbnail has only nearly")
  func shape() throws {
    // 220 × 164.6 of the original, but 164.3 of the kept one of 300 × 224.
    let facts: [String: JSONValue] = ["identify": ["width": 3000, "height": 2244, "alpha": false]]
    let file = kept.appending(path: "large.jpg")
    try Data(Pictures.file(Pictures.plain([9, 9, 9], width: 300, height: 224), ".jpg"))
      .write(to: file)
    let large = PluginRequest.Kept(
      name: "large", mediaType: "image/jpeg", width: 300, height: 224, from: "image",
      path: file.path)
    let options = Self.options(large: ["maxPixelSize": 300], small: ["maxPixelSize": 220])
    let made = try #require(try make([large], options, facts: facts))
    #expect(made[0].width == 220 && made[0].height == 165)
  }

  @Test(
    "Where a kept thumbnail will not do, the original is decoded",
    arguments: [
      options(["scaling": "exact"]), options(["strip": false]),
      options(["region": [0, 0, 9, 9]]),
      options(small: ["maxPixelSize": 330]), options(small: ["animated": true]),
      options(small: ["sprites": 4]), options(small: ["width": 90, "height": 90]),
      options(large: ["rotation": 90]), options(large: ["animated": true]),
      options(large: ["quality": 60]), options(small: ["quality": 95]),
    ])
  func insufficient(options: JSONValue) throws {
    #expect(try make([keep()], options) == nil)
  }

  @Test("A kept thumbnail of a damaged picture, or of unknown origin, is no source")
  func damaged() throws {
    #expect(try make([keep(from: "damaged")]) == nil)
    #expect(try make([keep(from: nil)]) == nil)
    #expect(try make([keep("other")]) == nil)
    #expect(try make([]) == nil)
    #expect(try make([keep()])?.count == 1)
  }

  @Test("What JPEG can't hold is not lost: transparent pixels come from a kept PNG or the original")
  func alpha() throws {
    let png = Self.options(small: ["format": "png"])
    let unknown: [String: JSONValue] = ["identify": ["width": 2400, "height": 1600]]
    #expect(try make([keep()], png, facts: unknown) == nil)
    #expect(try make([keep()], png)?.map(\.mediaType) == ["image/png"])
    #expect(try make([keep(suffix: ".png")], png, facts: unknown)?.count == 1)
    #expect(try make([keep()], facts: unknown)?.count == 1)
  }

  @Test("Several sizes are made of one, whatever its format", arguments: [".jpg", ".png"])
  func cascade(suffix: String) throws {
    var options = Self.options().object ?? [:]
    let sizes = options["sizes"]?.array ?? []
    options["sizes"] = .array(sizes + [["name": "middle", "maxPixelSize": 300]])
    let made = try #require(
      try make([keep(suffix: suffix)], .object(options), wanted: ["small", "middle"]))
    #expect(made.map(\.width) == [100, 300])
  }

  @Test("If a kept thumbnail can't be decoded, the original is")
  func broken() throws {
    let kept = try keep()
    try Data("no picture".utf8).write(to: URL(filePath: kept.path))
    #expect(try make([kept]) == nil)
    let result = try run.process(
      Pictures.file(Pictures.plain([20, 160, 60], width: 800, height: 600), ".jpg"),
      options: Self.options(), wanted: ["small"], kept: [kept], facts: Self.facts)
    guard case .done(let facts, let renditions) = result else { throw Unexpected("\(result)") }
    #expect(renditions.map(\.height) == [75] && facts["dominantColor"] != nil)
  }

  @Test("If one of the sizes needs the original, all of them are made of it")
  func several() throws {
    var options = Self.options().object ?? [:]
    options["sizes"] = .array(
      (options["sizes"]?.array ?? []) + [["name": "huge", "maxPixelSize": 2000]])
    #expect(try make([keep()], .object(options), wanted: ["small", "huge"]) == nil)
  }
}
