import Containers
import Fixtures
import Foundation
import PictureDecoding
import PipelineModel
import Testing

@Suite("JPEG 2000 that libvips does not read", .timeLimit(.minutes(2)))
struct JPEG2000PictureTests {
  private typealias Component = OpenJPEGSample.Component

  /// The library that was built with the tests.
  private static func decoder() throws -> LoadedDecoder {
    try LoadedDecoder(path: DecoderTable.path(of: "openjpeg"))
  }

  /// Pixels, as they are decoded.
  private struct Seen {
    let pixels: [UInt8]
    let width: Int
    let height: Int
    let bands: Int
    let picture: DecodedPicture

    func color(_ x: Int, _ y: Int) -> [Int] {
      pixels[((y * width + x) * bands)...].prefix(bands).map { Int($0) }
    }

    var center: [Int] { color(width / 2, height / 2) }
  }

  private func request<Value>(
    _ bytes: [UInt8], longest: Int?, _ body: (DecoderRequest) throws -> Value
  ) throws -> Value {
    let folder = try TemporaryFolder()
    let path = "\(folder.appending("picture"))"
    try Data(bytes).write(to: URL(filePath: path))
    return try body(DecoderRequest(path: path, mediaType: "image/jp2", longest: longest))
  }

  private func decode(
    _ bytes: [UInt8], longest: Int? = nil, isCancelled: () -> Bool = { false }
  ) throws -> Seen {
    let picture = try request(bytes, longest: longest) {
      try Self.decoder().decode($0, isCancelled: isCancelled)
    }
    guard case .pixels(let pixels, let width, let height, let bands) = picture.content else {
      Issue.record("no pixels")
      return Seen(pixels: [], width: 0, height: 0, bands: 0, picture: picture)
    }
    return Seen(pixels: pixels, width: width, height: height, bands: bands, picture: picture)
  }

  private func facts(_ bytes: [UInt8]) throws -> [String: JSONValue] {
    try request(bytes, longest: nil) { try Self.decoder().facts($0, isCancelled: { false }) }
  }

  private func isChosen(_ bytes: [UInt8]) -> Bool {
    DecoderTable.entry(for: MediaType(rawValue: "image/jp2"))?.decoder(of: ByteReader(bytes))
      == .library("openjpeg")
  }

  /// A picture of one colour, of values from 0 to 1.
  private func plain(
    _ values: [Double], bits: Int = 8, width: Int = 15, height: Int = 11, chroma: Int = 1
  ) -> OpenJPEGSample {
    OpenJPEGSample(
      width: width, height: height,
      components: values.enumerated().map { index, value in
        let distance = [1, 2].contains(index) ? chroma : 1
        return Component(bits: bits, dx: distance, dy: distance) { _, _ in value }
      })
  }

  /// Three components that differ in all that they can.
  private static let mixed = OpenJPEGSample(
    width: 33, height: 21, origin: (3, 5),
    components: [
      Component(bits: 12) { x, y in Double(x + y) / 64 },
      Component(bits: 5, isSigned: true, dx: 3, dy: 2) { x, y in Double(y * 7 % 32) / 32 },
      Component(bits: 1, dx: 2, dy: 4) { x, y in x / 8 % 2 == 0 ? 1 : 0 },
    ])

  @Test(
    "Components that differ in size, bits and sign are shown where they lie, from black to white",
    arguments: [0, 16])
  func mixed(tile: Int) throws {
    var sample = Self.mixed
    sample.tile = tile
    if tile > 0 { sample.origin = (0, 0) }
    let bytes = try sample.codestream()
    #expect(isChosen(bytes))
    let seen = try decode(bytes)
    try #require(seen.width == 33 && seen.height == 21 && seen.bands == 3)
    for y in 0..<21 {
      for x in 0..<33 {
        let wanted = sample.components.indices.map { index in
          let most = 1 << sample.components[index].bits - 1
          let value = sample.value(index, x: x + sample.origin.x, y: y + sample.origin.y)
          return Int((Double(value) * 255 / Double(most)).rounded())
        }
        try #require(seen.color(x, y) == wanted, "\(x), \(y)")
      }
    }
    let facts = try facts(bytes)
    #expect(facts["width"] == 33 && facts["height"] == 21 && facts["bitDepth"] == 12)
    #expect(facts["alpha"] == false && facts["colorSpace"] == "srgb" && facts["problem"] == nil)
  }

  @Test("Fewer columns than rows of all values make no picture narrow")
  func narrow() throws {
    let sample = OpenJPEGSample(
      width: 40, height: 20,
      components: [Component(dx: 2) { x, _ in x < 20 ? 0 : 1 }])
    let bytes = try sample.codestream()
    #expect(isChosen(bytes))
    let seen = try decode(bytes)
    #expect(seen.width == 40 && seen.height == 20 && seen.bands == 1)
    #expect(seen.color(19, 9) == [0] && seen.color(20, 9) == [255])
    // Half of the pixels in both directions are half the picture.
    var halves = sample
    halves.components[0].dy = 2
    let half = try decode(halves.codestream())
    #expect(half.width == 20 && half.height == 10)
  }

  @Test(
    "A resolution that is large enough is decoded, and is the same picture", arguments: [0, 128])
  func reduced(tile: Int) throws {
    let sample = OpenJPEGSample(
      width: 601, height: 397, resolutions: 4, tile: tile,
      components: [
        Component(bits: 10) { x, _ in Double(x) / 601 },
        Component(bits: 8, dx: 2, dy: 1) { _, y in Double(y) / 397 },
        Component(bits: 8, dx: 1, dy: 2) { x, y in Double(x + y) / 1000 },
      ])
    let bytes = try sample.codestream()
    for (longest, width, height) in [
      (nil, 601, 397), (601, 601, 397), (302, 601, 397), (301, 301, 199), (151, 151, 100),
      (100, 151, 100), (76, 76, 50), (1, 76, 50),
    ] {
      let seen = try decode(bytes, longest: longest)
      try #require(seen.width == width && seen.height == height, "\(longest ?? 0)")
      for (x, y) in [(0.1, 0.1), (0.5, 0.7), (0.9, 0.4)] {
        let found = seen.color(Int(x * Double(width)), Int(y * Double(height)))
        let wanted = [x * 255, y * 255, (x * 601 + y * 397) * 0.255].map { Int($0) }
        #expect(Pictures.distance(found, wanted) <= 5, "\(longest ?? 0): \(found), \(wanted)")
      }
    }
  }

  @Test("The facts tell how much less memory a smaller resolution takes")
  func memory() throws {
    let large = OpenJPEGSample(
      width: 2100, height: 1500, resolutions: 3,
      components: [Component(dx: 2) { _, _ in 0 }, Component(bits: 9) { _, _ in 1 }])
    var flat = large
    flat.resolutions = 1
    func memory(_ sample: OpenJPEGSample) throws -> [Int] {
      let needs = try facts(sample.codestream())["decodeBytes"]
      return ["streamed", "whole", "reduced"].compactMap { needs?[$0]?.integer }
    }
    let (some, all) = (try memory(large), try memory(flat))
    try #require(some.count == 3 && all.count == 3)
    #expect(some[0] == some[1] && some[1] > 4 * 2100 * 1500 && all[2] == all[1])
    #expect(some[2] - (16 << 20) < (some[1] - (16 << 20)) / 3)
    // OpenJPEG keeps parameters of each tile.
    var tiled = flat
    tiled.tile = 64
    let tiles = 33 * 24
    #expect(try memory(tiled)[1] - all[1] > tiles * 6000)
  }

  @Test("Luminance and chroma become colours, however they are said to be", arguments: [1, 2])
  func luminance(chroma: Int) throws {
    // Red of 8 bits. Source: ITU-T T.871; with a narrow range, ITU-R BT.601 and BT.709.
    let (wide, narrow, narrowHD) = ([76, 85, 255], [81, 90, 240], [63, 102, 240])
    var files = [18, 24, 3].map { ($0, wide) } + [(4, narrow), (1, narrowHD)]
    // Without a sign, or against it, what has less of its second and third component.
    if chroma == 2 { files += [(16, wide), (0xFFFF, wide)] }
    for (number, values) in files {
      for bits in [8, 12] {
        let scale = bits == 8 ? 255.0 : 4095 / 16
        let sample = plain(
          values.map { min(1, Double($0) / scale) }, bits: bits, chroma: chroma)
        let bytes = number == 0xFFFF ? try sample.codestream() : try sample.file(colors: number)
        #expect(isChosen(bytes), "\(number)")
        let seen = try decode(bytes)
        #expect(seen.width == 15 && seen.height == 11 && seen.bands == 3)
        #expect(
          Pictures.distance(seen.center, [255, 0, 0]) <= 4, "\(number), \(bits): \(seen.center)")
      }
    }
    // Greys of any number of bits have no colour.
    for bits in [1, 2, 10, 16] {
      let grey = Double(1 << (bits - 1)) / Double(1 << bits - 1)
      let found = try decode(plain([grey, grey, grey], bits: bits).file(colors: 18)).center
      #expect(found[0] == found[1] && found[1] == found[2], "\(bits): \(found)")
    }
  }

  @Test("Ink becomes colours, and more channels than colours are an alpha")
  func otherModels() throws {
    let inks = try decode(plain([0.2, 0.4, 0, 0.5]).file(colors: 12))
    #expect(inks.bands == 3 && Pictures.distance(inks.center, [102, 76, 128]) <= 2)
    let colors = plain([0.2, 0.4, 0.6, 0.8])
    #expect(try decode(colors.codestream()).center == [51, 102, 153, 204])
    let grey = try decode(plain([0.2, 0.8]).file(colors: 17))
    #expect(grey.center == [51, 51, 51, 204])
    #expect(try facts(plain([0.2, 0.8]).file(colors: 17))["colorSpace"] == "grey")
    #expect(try facts(colors.codestream())["alpha"] == true)
  }

  @Test("CIELab becomes colours, as the standard codes it or as the file does", arguments: [8, 12])
  func lab(bits: Int) throws {
    // sRGB in CIELab with the white of ICC.1; source: Lindbloom's calculator, by Bradford's adaptation.
    let colors = [
      ([100, 0, 0], [255, 255, 255]), ([54.29, 80.81, 69.89], [255, 0, 0]),
      ([87.82, -79.29, 80.99], [0, 255, 0]), ([53.39, 0, 0], [127, 127, 127]),
      ([3, 0, 0], [11, 11, 11]),
    ]
    // The standard's coding has no such blue.
    let blue = ([29.57, 68.30, -112.03], [0, 0, 255])
    let most = Double(1 << bits - 1)
    for own in [nil, [110, 1 << (bits - 4), 170, 1 << (bits - 1), 250, 5 << (bits - 3)]] {
      let coding = own ?? [100, 0, 170, 1 << (bits - 1), 200, 3 << (bits - 3)]
      for (lab, wanted) in colors + (own == nil ? [] : [blue]) {
        let values = (0..<3).map { index in
          (lab[index] * most / Double(coding[2 * index]) + Double(coding[2 * index + 1])) / most
        }
        let content =
          (own ?? []).flatMap { Pictures.big($0, 4) } + (own == nil ? [] : Array("\0D50".utf8))
        let bytes = Pictures.withColors(
          [1, 0, 0] + Pictures.big(14, 4) + content, in: try plain(values, bits: bits).file())
        #expect(isChosen(bytes))
        let seen = try decode(bytes)
        #expect(
          seen.bands == 3 && Pictures.distance(seen.center, wanted) <= (bits == 8 ? 10 : 2),
          "\(lab): \(seen.center)")
        #expect(try facts(bytes)["colorSpace"] == "lab")
      }
    }
  }

  @Test("Channels mean what the file says")
  func channels() throws {
    func file(_ values: [Double], _ channels: [(purpose: Int, color: Int)]) throws -> [UInt8] {
      Pictures.withColors(
        [1, 0, 0] + Pictures.big(16, 4), channels: channels, in: try plain(values).file())
    }
    let colors = [1, 2, 3].map { (purpose: 0, color: $0) }
    let (unknown, alpha) = ((purpose: 0xFFFF, color: 0xFFFF), (purpose: 1, color: 0))
    let unused = try file([0.2, 0.4, 0.6, 0.8], colors + [unknown])
    #expect(try decode(unused).center == [51, 102, 153] && !isChosen(unused))
    let behind = try file([0.2, 0.4, 0.6, 0.8, 1], colors + [unknown, alpha])
    #expect(try decode(behind).center == [51, 102, 153, 255])
    // Colours that are multiplied by an alpha are divided by it.
    let multiplied = try file([0.2, 0.4, 0.1, 0.5], colors + [(purpose: 2, color: 0)])
    #expect(isChosen(multiplied))
    #expect(Pictures.distance(try decode(multiplied).center, [102, 204, 51, 128]) <= 2)
    let ink = Pictures.withColors(
      [1, 0, 0] + Pictures.big(12, 4),
      channels: (1...4).map { (purpose: 0, color: $0) } + [(purpose: 2, color: 0)],
      in: try plain([0.5, 0, 0, 0, 0.5]).file())
    #expect(Pictures.distance(try decode(ink).center, [0, 255, 255, 128]) <= 2)
    let invisible = try file([0.2, 0.4, 0.1, 0], colors + [(purpose: 2, color: 0)])
    #expect(try decode(invisible).center == [51, 102, 26, 0])
    let reversed = try file([0.2, 0.4, 0.6], colors.reversed())
    #expect(isChosen(reversed))
    #expect(try decode(reversed).center == [153, 102, 51])
  }

  @Test("Indices of a palette are never averaged")
  func palette() throws {
    let file = try Pictures.paletteJP2(
      width: 640, height: 480, palette: [[255, 0, 0], [0, 255, 0], [0, 0, 255]]
    ) { x, _ in x % 2 == 0 ? 0 : 2 }
    let seen = try decode(file, longest: 8)
    try #require(seen.width == 640 && seen.height == 480 && seen.bands == 3)
    #expect(seen.color(30, 20) == [255, 0, 0] && seen.color(31, 20) == [0, 0, 255])
  }

  @Test("A profile of colours is handed on, and one of something else is not")
  func profile() throws {
    let file = try plain([0.2, 0.4, 0.6], chroma: 2).file()
    for (space, isKept) in [("RGB ", true), ("GRAY", true), ("CMYK", false), ("Lab ", false)] {
      let profile = [UInt8](repeating: 1, count: 16) + Array(space.utf8)
      let seen = try decode(Pictures.withColors([2, 0, 0] + profile, in: file))
      #expect(seen.picture.profile == (isKept ? profile : []), "\(space)")
      // Of a profile for greys the first component is the picture.
      #expect(seen.bands == (space == "GRAY" ? 1 : 3))
    }
  }

  @Test("What libvips reads is left to it")
  func plainFiles() throws {
    for sample in [plain([0.5]), plain([0.5, 0.5, 0.5]), plain([0, 0, 0, 0], bits: 16)] {
      let (bare, boxed) = (try sample.codestream(), try sample.file())
      #expect(!isChosen(bare) && !isChosen(boxed))
    }
  }

  @Test("A picture beyond the limits is refused by its header")
  func limits() throws {
    var bytes = try plain([0, 0, 0], chroma: 2).codestream()
    // The ends of the grid and of the only tile. Source: ISO/IEC 15444-1, annex A.5.1.
    for at in [8, 12, 24, 28] { bytes.replaceSubrange(at..<(at + 4), with: [0, 0, 0x60, 0]) }
    let error = try #require(throws: DecoderError.self) { try decode(bytes, longest: 16) }
    #expect(error.code == .tooLarge && error.message.contains("500 megapixels"))
    let facts = try facts(bytes)
    #expect(facts["width"] == 0x6000)
    #expect(facts["problem"]?.string?.contains("500 megapixels") == true)
    #expect(facts["decodeBytes"]?["whole"]?.integer ?? 0 > 4 << 30)
    // The greatest numbers that there are.
    for at in [8, 12, 24, 28] {
      bytes.replaceSubrange(at..<(at + 4), with: [0x7F, 0xFF, 0xFF, 0xFF])
    }
    _ = try? self.facts(bytes)
    let many = OpenJPEGSample(
      width: 2, height: 2,
      components: (0...100).map { index in Component(dx: 1 + index % 2) { _, _ in 0 } })
    let refused = try #require(throws: DecoderError.self) { try decode(many.codestream()) }
    #expect(refused.code == .tooLarge && refused.message.contains("100 components"))
  }

  @Test("Files that are damaged, missing or no longer wanted fail with their reason")
  func failures() throws {
    let bytes = try Self.mixed.codestream()
    for damaged in [Array(bytes.prefix(60)), Array(bytes.prefix(2)), [], Array("text".utf8)] {
      let error = try #require(throws: DecoderError.self) { try decode(damaged) }
      #expect(error.code == .undecodable && error.message.contains("JPEG 2000"), "\(error)")
    }
    let cancelled = try #require(throws: DecoderError.self) {
      try decode(bytes, isCancelled: { true })
    }
    #expect(cancelled.code == .cancelled)
    let missing = try #require(throws: DecoderError.self) {
      try Self.decoder().decode(
        DecoderRequest(path: "/nowhere", mediaType: "image/jp2"), isCancelled: { false })
    }
    #expect(missing.code == .inputOutput)
  }
}
