import Fixtures
import Foundation
import PipelineModel
import PipelinePlugin
import Testing
import Vips

/// Thumbnails of the less usual kinds that libvips reads.
@Suite("Thumbnails of other kinds", .timeLimit(.minutes(3)))
struct ThumbnailKindTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  /// What the grey kinds show of the corners: their green.
  private static let greens = Pictures.corners.map { [Int](repeating: Int($0[1]), count: 3) }

  private func expectCorners(
    _ picture: PicturesReading, of kind: Pictures.Kind, within bound: Int = 16,
    at location: SourceLocation = #_sourceLocation
  ) {
    // Bits are black or white; counts of photons are stretched.
    if ["PBM", "FITS"].contains(kind.name) {
      let lightness = picture.corners.map { $0[1] }
      let order = [1, 3].allSatisfy { bright in
        [0, 2].allSatisfy { lightness[bright] > lightness[$0] + 20 }
      }
      #expect(order, "\(kind.name): \(lightness)", sourceLocation: location)
      return
    }
    let wanted = kind.isColored ? Pictures.corners.map { $0.map(Int.init) } : Self.greens
    for (found, wanted) in zip(picture.corners, wanted) {
      #expect(
        Pictures.distance(found, wanted) < bound, "\(kind.name): \(found), not \(wanted)",
        sourceLocation: location)
    }
  }

  @Test("Every kind gives its picture, upright and in its colours, with and without its type")
  func pictures() throws {
    for kind in try Pictures.kinds() {
      for type in [nil, kind.mediaType] {
        for options: [String: JSONValue] in [[:], ["scaling": "exact"]] {
          let made = try run.thumbnail(kind.bytes, maxPixelSize: 80, options: options, type: type)
          #expect(made.picture.width == 80 && made.picture.height == 60, "\(kind.name)")
          #expect(made.rendition.from == "image", "\(kind.name)")
          expectCorners(made.picture, of: kind)
        }
      }
    }
  }

  @Test("Pixels in full size are those of the picture that the file was made of")
  func fidelity() throws {
    let original = try PicturesReading(
      Pictures.file(Pictures.picture(width: 160, height: 120), ".png"))
    for kind in try Pictures.kinds() where kind.isColored && !["SVG", "PDF"].contains(kind.name) {
      let made = try run.thumbnail(
        kind.bytes, maxPixelSize: 160, options: ["format": "png"], type: kind.mediaType)
      #expect(made.picture.psnr(to: original) > 35, "\(kind.name)")
    }
  }

  @Test("Several sizes and a region come from one job")
  func sizesAndRegion() throws {
    let sizes: JSONValue = [
      ["name": "large", "maxPixelSize": 120], ["name": "small", "maxPixelSize": 40],
    ]
    for kind in try Pictures.kinds() {
      let made = try run.thumbnails(kind.bytes, options: ["sizes": sizes], type: kind.mediaType)
      for (name, width, height) in [("large", 120, 90), ("small", 40, 30)] {
        let picture = try #require(made[name]).picture
        #expect(picture.width == width && picture.height == height, "\(kind.name)")
        expectCorners(picture, of: kind)
      }
      // The quarter at the bottom right.
      let part = try run.thumbnail(
        kind.bytes, options: ["region": [80, 60, 80, 60]], type: kind.mediaType)
      #expect(part.picture.width == 80 && part.picture.height == 60, "\(kind.name)")
      guard kind.isColored else { continue }
      for color in part.picture.corners {
        #expect(
          Pictures.distance(color, Pictures.corners[3].map(Int.init)) < 20,
          "\(kind.name): \(color)")
      }
    }
  }

  @Test(
    "A part of a file fails and leaves nothing, or is marked", arguments: [0.3, 0.5, 0.9, 0.98])
  func truncated(fraction: Double) throws {
    var kinds = try Pictures.kinds()
    kinds += [("P1", "1\n0\n"), ("P2", "200\n100\n"), ("P3", "200\n10\n30\n")].map {
      magic, values in
      let most = magic == "P1" ? "" : "255\n"
      let text =
        "\(magic)\n30 30\n\(most)" + String(repeating: values, count: 450 * (magic == "P3" ? 2 : 1))
      return Pictures.Kind(name: magic, mediaType: "", bytes: Array(text.utf8))
    }
    for kind in kinds {
      var cut = Pictures.truncated(kind.bytes, to: fraction)
      // Zeros follow the last row.
      if kind.name == "FITS", fraction > 0.8 { cut = Array(kind.bytes.prefix(2880 + 160 * 119)) }
      // The table of a PDF, at its end, can be made anew from what is before it.
      if kind.name == "PDF", fraction > 0.8 { continue }
      let result = try run.process(cut, type: kind.mediaType.isEmpty ? nil : kind.mediaType)
      switch result {
      case .failed(let failure):
        #expect(failure.class == .permanent, "\(kind.name)")
        #expect(try run.outputNames.isEmpty, "\(kind.name)")
        run.expectSentence(failure.reason)
      case .done(let facts, let renditions):
        #expect(facts["damage"] != nil, "\(kind.name) was accepted")
        #expect(renditions.allSatisfy { $0.from == "damaged" })
      default: Issue.record("\(kind.name): \(result)")
      }
    }
    // Written as text, they are whole.
    for kind in kinds.suffix(3) {
      #expect(try run.thumbnail(kind.bytes).picture.width == 30)
    }
  }

  @Test(
    "White of a PGM or PPM is the value that its header says, whatever comments it has",
    arguments: ["fast", "exact"])
  func pixmaps(scaling: String) throws {
    func wide(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
    let files: [(name: String, bytes: [UInt8])] = [
      ("plain", Array("P2\n2 1\n15\n15 5\n".utf8)),
      ("plain colours", Array("P3\n2 1\n9\n9 9 9 3 3 3\n".utf8)),
      ("8 bits", Array("P5\n2 1\n60\n".utf8) + [60, 20]),
      ("16 bits", Array("P5\n2 1\n1023\n".utf8) + wide(1023) + wide(341)),
      ("colours", Array("P6\n# one\n# two\n2 # three\n1\n30\n".utf8) + [30, 30, 30, 10, 10, 10]),
      ("255", Array("P5\n# one\n# two\n# three\n2 1\n255\n".utf8) + [255, 85]),
    ]
    for (name, bytes) in files {
      let picture = try run.thumbnail(
        bytes, options: ["format": "png", "scaling": .string(scaling)]
      )
      .picture
      try #require(picture.width == 2 && picture.height == 1, "\(name)")
      let values = [picture.pixels[0], picture.pixels[3]]
      #expect(values[0] == 255 && abs(Int(values[1]) - 85) <= 1, "\(name): \(values)")
    }
  }

  @Test("JPEG 2000 that is decoded in a smaller resolution is the same picture")
  func jpeg2000() throws {
    let picture = try Pictures.picture(width: 1600, height: 1200, grain: 0)
    let jp2 = try Pictures.file(picture, ".jp2[Q=80]")
    let png = try Pictures.file(picture, ".png")
    for side in [100, 200, 350, 800] {
      let wanted = try run.thumbnail(png, maxPixelSize: side, options: ["format": "png"])
      // The wavelets' own averages are shifted by half a pixel, which the edges show.
      for (scaling, least) in [("fast", 28.0), ("exact", 32)] {
        let made = try run.thumbnail(
          jp2, maxPixelSize: side, options: ["format": "png", "scaling": .string(scaling)])
        let found = made.picture.psnr(to: wanted.picture)
        #expect(found > least, "\(side), \(scaling)")
      }
    }
    for options: [String: JSONValue] in [["region": [800, 600, 800, 600]], ["scaling": "exact"]] {
      let made = try run.thumbnail(jp2, options: options)
      #expect(made.picture.width == 256 && made.picture.height == 192)
    }
  }

  @Test("An animated AVIF shows its primary picture")
  func animatedAVIF() throws {
    var bytes = try Pictures.file(try Pictures.picture(width: 160, height: 120), ".avif[Q=90]")
    // Of what the brand announces, libvips reads the primary picture only, which any AVIF has.
    try #require(bytes[8..<12].elementsEqual("avif".utf8))
    bytes.replaceSubrange(8..<12, with: "avis".utf8)
    let made = try run.thumbnail(bytes, maxPixelSize: 80)
    #expect(made.picture.width == 80 && made.picture.height == 60)
    for (found, corner) in zip(made.picture.corners, Pictures.corners) {
      #expect(Pictures.distance(found, corner.map(Int.init)) < 24)
    }
    let facts = try PluginRun("identify").facts(bytes)
    #expect(facts["mediaType"] == "image/avif" && facts["width"] == 160 && facts["height"] == 120)
  }

  @Test("OpenEXR shows the picture, of which its pixels are a part, or which is a part of them")
  func openEXRWindow() throws {
    func file(_ display: [Int]?, hasAlpha: Bool = false) -> [UInt8] {
      Pictures.openEXR(width: 40, height: 20, hasAlpha: hasAlpha, display: display) { x, _, band in
        band == 3 || (x < 20 ? 0 : 2) == band ? 1 : 0
      }
    }
    let (red, blue, black) = ([255, 0, 0], [0, 0, 255], [0, 0, 0])
    // The display window from the first pixel, and which colours the picture's corners have.
    let cases: [(display: [Int]?, width: Int, height: Int, corners: [[Int]])] = [
      (nil, 40, 20, [red, blue, red, blue]), ([0, 0, 39, 19], 40, 20, [red, blue, red, blue]),
      // In the middle, between what is looked at.
      ([-80, -40, 119, 59], 200, 100, [black, black, black, black]),
      ([10, 5, 29, 14], 20, 10, [red, blue, red, blue]),
      ([20, 0, 59, 19], 40, 20, [blue, black, blue, black]),
      // None of the pixels is in it, or it is beyond all bounds.
      ([100, 100, 120, 120], 40, 20, [red, blue, red, blue]),
      ([0, 0, 1 << 24, 19], 40, 20, [red, blue, red, blue]),
      ([0, 0, 29_999, 29_999], 40, 20, [red, blue, red, blue]),
    ]
    for (display, width, height, corners) in cases {
      for scaling in ["fast", "exact"] {
        let made = try run.thumbnail(
          file(display), options: ["format": "png", "scaling": .string(scaling)])
        try #require(made.picture.width == width && made.picture.height == height)
        for (found, corner) in zip(made.picture.corners, corners) {
          #expect(
            Pictures.distance(found, corner) < 6,
            "\(scaling), \(display ?? []): \(made.picture.corners)")
        }
      }
      let facts = try PluginRun("identify").facts(file(display))
      #expect(facts["width"] == .integer(width) && facts["height"] == .integer(height))
    }
    // A row of too many pixels would end the worker.
    let endless = Pictures.openEXR(width: 40, height: 20, columns: 1 << 26) { _, _, _ in 0 }
    #expect(throws: (any Error).self) { try run.thumbnail(endless) }
    #expect(
      "\(try PluginRun("identify").facts(endless)["problem"]?.string ?? "")".contains("columns"))
    // What is decoded takes the memory, not what is shown.
    let needs = try ([nil, [0, 0, 9, 9]] as [[Int]?]).map { display in
      let wide = Pictures.openEXR(width: 900, height: 600, display: display) { _, _, _ in 0 }
      let facts = try PluginRun("identify").facts(wide)
      return try #require(facts["decodeBytes"]?["streamed"]?.integer)
    }
    #expect(needs[0] == needs[1])
    let framed = try run.thumbnail(
      file([-10, -5, 49, 34]), maxPixelSize: 60, options: ["format": "png"])
    #expect(Pictures.distance(framed.picture.color(x: 0.2...0.45, y: 0.2...0.6), red) < 6)
    #expect(Pictures.distance(framed.picture.color(x: 0.55...0.8, y: 0.2...0.6), blue) < 6)
    #expect(Pictures.distance(framed.picture.color(x: 0.2...0.8, y: 0.7...0.9), black) < 6)
    let clear = try run.thumbnail(
      file([-80, -40, 119, 59], hasAlpha: true), options: ["format": "png"])
    // As it is read back, on white.
    #expect(clear.picture.bands == 4)
    #expect(Pictures.distance(clear.picture.corners[0], [255, 255, 255]) < 6)
  }

  @Test("Radiance HDR is shown upright, in whatever order its pixels are", arguments: 1...8)
  func radiance(orientation: Int) throws {
    let stored = Pictures.store(
      Pictures.pixels(width: 200, height: 120), width: 200, height: 120, orientation: orientation)
    let picture = try Picture.pixels(
      stored.bytes, width: stored.width, height: stored.height, bands: 3)
    let plain = try Pictures.file(picture, ".hdr")
    let line = "-Y \(stored.height) +X \(stored.width)\n"
    let start = try #require(plain.indices.first { plain[$0...].starts(with: line.utf8) })
    let axes = ["-Y +X", "-Y -X", "+Y -X", "+Y +X", "+X -Y", "-X -Y", "-X +Y", "+X +Y"]
    let order = axes[orientation - 1].split(separator: " ")
    let bytes =
      plain[..<start] + Array("\(order[0]) \(stored.height) \(order[1]) \(stored.width)\n".utf8)
      + plain[(start + line.utf8.count)...]
    let made = try run.thumbnail(Array(bytes), maxPixelSize: 100)
    #expect(made.picture.width == 100 && made.picture.height == 60)
    for (found, corner) in zip(made.picture.corners, Pictures.corners) {
      #expect(Pictures.distance(found, corner.map(Int.init)) < 24)
    }
    let facts = try PluginRun("identify").facts(Array(bytes))
    #expect(facts["width"] == 200 && facts["height"] == 120)
    #expect(facts["orientation"] == .integer(orientation))
  }

  @Test("JPEG XL is turned once, by its decoder", arguments: 1...8)
  func jpegXL(orientation: Int) throws {
    let stored = Pictures.store(
      Pictures.pixels(width: 200, height: 120), width: 200, height: 120, orientation: orientation)
    let picture = try Picture.pixels(
      stored.bytes, width: stored.width, height: stored.height, bands: 3)
    let bytes = Pictures.turned(
      try Pictures.file(picture, ".jxl[Q=95]"), orientation: orientation)
    let made = try run.thumbnail(bytes, maxPixelSize: 100)
    #expect(made.picture.width == 100 && made.picture.height == 60)
    for (found, corner) in zip(made.picture.corners, Pictures.corners) {
      #expect(Pictures.distance(found, corner.map(Int.init)) < 24)
    }
    let facts = try PluginRun("identify").facts(bytes)
    #expect(facts["width"] == 200 && facts["height"] == 120 && facts["orientation"] == 1)
  }

  @Test("Linear light becomes what a screen shows")
  func linearLight() throws {
    let files: [(String, [UInt8])] = [
      ("HDR", Pictures.radiance(width: 64, height: 48) { _, _, _ in 0.2140 }),
      ("EXR", Pictures.openEXR(width: 64, height: 48) { _, _, _ in 0.2140 }),
      ("PFM", Pictures.floatMap(width: 64, height: 48, bands: 3) { _, _, _ in 0.2140 }),
      ("grey PFM", Pictures.floatMap(width: 64, height: 48, bands: 1) { _, _, _ in 0.2140 }),
    ]
    for (name, bytes) in files {
      for space in ["srgb", "keep"] {
        let made = try run.thumbnail(
          bytes, maxPixelSize: 32, options: ["colorSpace": .string(space), "format": "png"])
        for color in made.picture.corners {
          #expect(Pictures.distance(color, [128, 128, 128]) < 4, "\(name), \(space): \(color)")
        }
      }
    }
    // What is far brighter than white is white.
    let bright = Pictures.openEXR(width: 64, height: 48) { x, _, _ in x < 32 ? 1000 : 0 }
    let made = try run.thumbnail(bright, maxPixelSize: 32)
    #expect(Pictures.distance(made.picture.corners[0], [255, 255, 255]) < 4)
    #expect(Pictures.distance(made.picture.corners[1], [0, 0, 0]) < 4)
  }
}
