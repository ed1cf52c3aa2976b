import Fixtures
import Glibc
import PipelineModel
import PipelinePlugin
import Testing
import Vips

@Suite("Thumbnails: placeholders", .timeLimit(.minutes(2)))
struct PlaceholderTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  private func facts(
    _ bytes: [UInt8], options: JSONValue = [:]
  ) throws -> [String: String] {
    guard case .done(let facts, _) = try run.process(bytes, options: options) else {
      throw Unexpected("the job is not done")
    }
    return try #require(facts.object).compactMapValues(\.string)
  }

  private func png(_ bytes: [UInt8], width: Int, height: Int, bands: Int) throws -> [UInt8] {
    try Pictures.file(
      try Picture.pixels(bytes, width: width, height: height, bands: bands), ".png")
  }

  /// Waves in three colours, the same in any size, without any symmetry.
  private func scene(width: Int, height: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for y in 0..<height {
      for x in 0..<width {
        let a = 2 * Double.pi * (Double(x) + 0.5) / Double(width)
        let b = 2 * Double.pi * (Double(y) + 0.5) / Double(height)
        for band in 0..<3 {
          let phase = Double(band)
          let waves =
            45 * sin(1.3 * a + 0.7 * b + phase) + 40 * cos(2.1 * b - 0.4 * a + 2 * phase)
            + 35 * sin(0.37 * a * b + 3 * phase)
          bytes.append(UInt8(128 + waves))
        }
      }
    }
    return bytes
  }

  private func jpeg(orientation: Int = 1) throws -> [UInt8] {
    let stored = stored(as: orientation)
    let plain = try Pictures.file(
      Picture.pixels(stored.bytes, width: stored.width, height: stored.height, bands: 3),
      ".jpg[Q=90,strip]")
    return Pictures.insert(PicturesExif(orientation: orientation).bytes, into: plain)
  }

  private func stored(as orientation: Int) -> (bytes: [UInt8], width: Int, height: Int) {
    Pictures.store(
      scene(width: 640, height: 480), width: 640, height: 480, orientation: orientation)
  }

  /// The scene, opaque or with alpha of steep slopes.
  private func sample(width: Int, height: Int, alpha: Bool) throws -> [UInt8] {
    let opaque = scene(width: width, height: height)
    guard alpha else { return try png(opaque, width: width, height: height, bands: 3) }
    var bytes: [UInt8] = []
    for index in 0..<(width * height) {
      bytes += opaque[(index * 3)..<(index * 3 + 3)]
      let (x, y) = (index % width, index / width)
      bytes.append(UInt8(truncatingIfNeeded: x * 7 + y * y))
    }
    return try png(bytes, width: width, height: height, bands: 4)
  }

  struct Vector: CustomTestStringConvertible, Sendable {
    var width: Int
    var height: Int
    var alpha: Bool
    var thumbHash: String
    var perceptualHash: String
    var testDescription: String { "\(width) × \(height), alpha: \(alpha)" }
  }

  /// Made by other programs: the ThumbHash by the one in Rust, the frequencies by NumPy.
  static let vectors = [
    Vector(
      width: 60, height: 40, alpha: false, thumbHash: "4CcGDYgYi4c7/aaLbXaHd8B8ufuI",
      perceptualHash: "4f761c527869cf03"),
    Vector(
      width: 60, height: 40, alpha: true, thumbHash: "3yeCC4QHF4sp/nmga6j7iEaQZgVlVEY=",
      perceptualHash: "0f76187278234379"),
    Vector(
      width: 40, height: 64, alpha: false, thumbHash: "4CcGDAgYu9O/2Hd4d3nAfLn7iA==",
      perceptualHash: "4f761c527869cf03"),
    Vector(
      width: 40, height: 64, alpha: true, thumbHash: "3xeCCwQHByutZ4agabf7eAQoRqFFYWM=",
      perceptualHash: "4f761c7438528710"),
  ]

  @Test("Hashes are those that other programs compute of the same pixels", arguments: vectors)
  func hashes(vector: Vector) throws {
    let bytes = try sample(width: vector.width, height: vector.height, alpha: vector.alpha)
    // As PNG, whose alpha is kept.
    let found = try facts(bytes, options: ["format": "png"])
    #expect(found["thumbHash"] == vector.thumbHash)
    #expect(found["perceptualHash"] == vector.perceptualHash)
  }

  @Test("The dominant colour is one that can be seen, not the mean")
  func dominantColor() throws {
    // Three fifths olive, the rest blue; their mean would be grey.
    var bytes: [UInt8] = []
    for _ in 0..<50 { for x in 0..<100 { bytes += x < 60 ? [120, 130, 20] : [20, 40, 250] } }
    let picture = try png(bytes, width: 100, height: 50, bands: 3)
    #expect(try facts(picture)["dominantColor"] == "#788214")
  }

  @Test(
    "Transparent pixels don't count, whatever colour they have",
    arguments: ["jpeg", "png"], [[0, 255, 0], [255, 255, 255]])
  func transparency(format: String, hidden: [UInt8]) throws {
    var bytes: [UInt8] = []
    for _ in 0..<300 { for x in 0..<400 { bytes += x < 100 ? [200, 80, 40, 255] : hidden + [0] } }
    let found = try facts(
      try png(bytes, width: 400, height: 300, bands: 4), options: ["format": .string(format)])
    #expect(found["dominantColor"] == "#c85028")
    // On a background of its mean colour it is blank.
    #expect(found["perceptualHash"] == nil)
    #expect(found["thumbHash"] != nil)
  }

  @Test("A JPEG made of a picture with alpha has the placeholders of one that keeps it")
  func flattened() throws {
    let bytes = try sample(width: 90, height: 60, alpha: true)
    let opaque = try facts(bytes)
    #expect(opaque["dominantColor"] != nil)
    let kept = try facts(bytes, options: ["format": "png"])
    #expect(try distance(opaque, kept) <= 2)
    // Both have alpha; the bit that says so is the last of the first three bytes.
    #expect(opaque["thumbHash"]?.count == kept["thumbHash"]?.count)
  }

  @Test("A picture without an opaque pixel has neither colour nor hash")
  func invisible() throws {
    let bytes = [UInt8](repeating: 0, count: 64 * 64 * 4)
    let found = try facts(try png(bytes, width: 64, height: 64, bands: 4))
    #expect(Set(found.keys) == ["thumbHash"])
  }

  @Test("They are of the upright picture, also if thumbnails are not", arguments: 1...8)
  func upright(orientation: Int) throws {
    let reference = try facts(try jpeg())
    let bytes = try jpeg(orientation: orientation)
    for transform in [true, false] {
      let found = try facts(bytes, options: ["transform": .bool(transform)])
      #expect(try distance(found, reference) <= 4, "transform: \(transform)")
    }
    // A mirrored picture is another one.
    let mirrored = stored(as: 2)
    let other = try facts(
      try png(mirrored.bytes, width: mirrored.width, height: mirrored.height, bands: 3))
    #expect(try distance(other, reference) >= 16)
  }

  @Test("Colours are sRGB's, whatever the thumbnails have", arguments: ["srgb", "p3", "keep"])
  func colorSpace(name: String) throws {
    let picture = try Pictures.plain([220, 60, 50], width: 200, height: 150)
    for profile in ["p3", "cmyk"] {
      let bytes = try Pictures.profiled(picture, profile, as: profile == "p3" ? ".png" : ".jpg")
      let found = try facts(bytes, options: ["colorSpace": .string(name)])
      let text = try #require(found["dominantColor"]).dropFirst()
      let values = (0..<3).compactMap { Int(text.dropFirst($0 * 2).prefix(2), radix: 16) }
      #expect(Pictures.distance(values, [220, 60, 50]) <= 8, "\(profile): \(text)")
    }
  }

  @Test("Another encoding, size or brightness changes at most 10 bits of the hash")
  func near() throws {
    let pixels = scene(width: 640, height: 480)
    let picture = try Picture.pixels(pixels, width: 640, height: 480, bands: 3)
    let original = try facts(try Pictures.file(picture, ".png"))
    let brighter = pixels.map { UInt8(clamping: Int(Double($0) * 1.2)) }
    let others = [
      "compressed": try Pictures.file(picture, ".jpg[Q=30]"),
      "smaller": try Pictures.file(picture.resized(width: 200, height: 150), ".webp"),
      "brighter": try png(brighter, width: 640, height: 480, bands: 3),
      "cropped": try Pictures.file(
        picture.rendered().cropped(x: 16, y: 12, width: 608, height: 456), ".png"),
    ]
    for (name, bytes) in others {
      #expect(try distance(try facts(bytes), original) <= 10, "\(name)")
    }
  }

  @Test("The smallest thumbnail of at least 100 pixels is what they are made from")
  func source() throws {
    let bytes = try jpeg()
    let reference = try facts(bytes)
    // Of 8 pixels next to nothing would be left.
    let sizes: JSONValue = [
      ["name": "icon", "maxPixelSize": 8], ["name": "grid", "maxPixelSize": 256],
    ]
    #expect(try distance(try facts(bytes, options: ["sizes": sizes]), reference) <= 2)
    #expect(
      try distance(
        try facts(bytes, options: ["sizes": [["name": "icon", "maxPixelSize": 8]]]), reference)
        > 2)
  }

  private func distance(_ left: [String: String], _ right: [String: String]) throws -> Int {
    func bits(_ facts: [String: String]) throws -> UInt64 {
      let text = try #require(facts["perceptualHash"])
      #expect(text.count == 16)
      return try #require(UInt64(text, radix: 16))
    }
    return (try bits(left) ^ bits(right)).nonzeroBitCount
  }
}
