import Containers
import Fixtures
import Foundation
import PictureDecoding
import PipelineModel
import PipelinePlugin
import Testing
import Vips

/// Thumbnails of pictures whose values are not unsigned integers of 8 or 16 bits.
@Suite("Thumbnails: values", .timeLimit(.minutes(2)))
struct ThumbnailValueTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  /// Expects a fifth of black, of a middle grey and of white each, from left to right.
  private func expectSteps(
    _ bytes: [UInt8], middle: Int = 128, _ note: String,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    for side in [90, 45] {
      let made = try run.thumbnail(bytes, maxPixelSize: side, options: ["format": "png"])
      for (place, wanted) in [(0.05...0.25, 0), (0.4...0.6, middle), (0.75...0.95, 255)] {
        let found = made.picture.color(x: place, y: 0.2...0.8)
        #expect(
          Pictures.distance(found, [wanted, wanted, wanted]) <= 3, "\(note), \(side): \(found)",
          sourceLocation: location)
      }
    }
  }

  /// A TIFF of three columns of grey.
  private func steps(
    _ values: [Int], bits: Int, format: Int, bands: Int
  ) -> [UInt8] {
    Pictures.valuesTIFF(width: 90, height: 30, bands: bands, bits: bits, format: format) {
      x, _, _ in values[x / 30]
    }
  }

  @Test(
    "Integers of a TIFF that are signed or have 32 bits fill the whole range", arguments: [1, 3])
  func integers(bands: Int) throws {
    for (format, bits, values) in [
      (1, 32, [0, 1 << 31, (1 << 32) - 1]), (2, 32, [-(1 << 31), 0, (1 << 31) - 1]),
      (2, 16, [-32768, 0, 32767]), (2, 8, [-128, 0, 127]),
    ] {
      try expectSteps(
        steps(values, bits: bits, format: format, bands: bands), "format \(format), \(bits) bits")
    }
  }

  @Test("Integers of a TIFF that have 24 bits are shown, together and in planes")
  func oddIntegers() throws {
    let values = [0, 1 << 23, 1 << 24 - 1]
    for bands in [1, 3] {
      try expectSteps(steps(values, bits: 24, format: 1, bands: bands), "\(bands) bands")
    }
    // In separate planes, of several strips, the upper byte first.
    let planes = (0..<3).flatMap { plane in
      (0..<30).flatMap { _ in
        (0..<90).flatMap { [values[$0 / 30] >> 16, 0, plane].map { UInt8($0) } }
      }
    }
    var tags = TIFFTags()
    tags.long(256, [90])
    tags.long(257, [30])
    tags.short(258, [24, 24, 24])
    tags.short(259, [1])
    tags.short(262, [2])
    tags.short(277, [3])
    tags.long(278, [15])
    tags.short(284, [2])
    let starts = (0..<6).map { 8 + $0 * 15 * 90 * 3 }
    tags.long(273, starts)
    tags.long(279, [Int](repeating: 15 * 90 * 3, count: 6))
    let file =
      Array("II*\0".utf8) + TIFFTags.number(8 + planes.count, 4)
      + stride(from: 0, to: planes.count, by: 3).flatMap { planes[$0..<($0 + 3)].reversed() }
      + tags.bytes(at: 8 + planes.count)
    try expectSteps(file, "planes")
    let facts = try PluginRun("identify").facts(file)
    #expect(facts["width"] == 90 && facts["problem"] == nil)
    #expect(try run.failure(Array(file.prefix(4000)), type: "image/tiff").class == .permanent)
  }

  @Test("Floating-point values of a TIFF from 0 to 1 are linear light, in grey and in colour")
  func fractions() throws {
    func bits(_ values: [Float]) -> [Int] { values.map { Int($0.bitPattern) } }
    for bands in [1, 3] {
      try expectSteps(
        steps(bits([0, 0.2140, 1]), bits: 32, format: 3, bands: bands), "\(bands) bands")
    }
    let half: [Float] = [0.2140, 0.5]
    let grey = Pictures.valuesTIFF(
      width: 90, height: 30, bands: 2, bits: 32, format: 3
    ) { _, _, band in Int(half[band].bitPattern) }
    let made = try run.thumbnail(grey, maxPixelSize: 45, options: ["format": "png"])
    // As it is read back, on white.
    let found = made.picture.color(x: 0.2...0.8, y: 0.2...0.8)
    #expect(Pictures.distance(found, [191, 191, 191]) <= 4, "\(found)")
    // Not of linear light, which would be white.
    try expectSteps(steps(bits([0, 128, 255]), bits: 32, format: 3, bands: 1), "to 255")
  }

  @Test("A TIFF of 64-bit integers fails with their size")
  func longIntegers() throws {
    let bytes = steps([0, 0, 0], bits: 64, format: 1, bands: 1)
    let failure = try run.failure(bytes)
    #expect(
      failure.class == .permanent && failure.reason.contains("more than 32 bits"),
      "\(failure.reason)")
  }

  @Test("Floating-point values of a JPEG XL are coded as its profile says", arguments: [1, 3])
  func jpegXL(bands: Int) throws {
    func file(_ middle: Float, profile: [UInt8]?) throws -> [UInt8] {
      let map = Pictures.floatMap(width: 90, height: 30, bands: bands) { x, _, _ in
        [0, middle, 1][x / 30]
      }
      let light = try Picture.load(PictureSource(bytes: map), as: .pnm).linearLight()
      let labelled = try light.editingMetadata { editor in
        if let profile { editor.set(Picture.Field.profile, profile) }
      }
      return try Pictures.file(labelled, ".jxl[lossless]")
    }
    try expectSteps(file(128.0 / 255, profile: builtInProfile("srgb")), "sRGB")
    try expectSteps(file(0.2140, profile: nil), "linear light")
  }

  @Test("JPEG 2000 of few bits or of signed values fills the whole range")
  func jpeg2000() throws {
    func codestream(_ values: [UInt8], depth: UInt8) throws -> [UInt8] {
      let row = (0..<90).map { values[$0 / 30] }
      let picture = try Picture.pixels(
        (0..<30).flatMap { _ in row }, width: 90, height: 30, bands: 1)
      return Pictures.redescribed(
        Pictures.codestream(in: try Pictures.file(picture, ".jp2[lossless]")), depth: depth)
    }
    try expectSteps(codestream([0, 128, 255], depth: 0x87), "8 bits, signed")
    // Values of the codestream are relative to the middle of the range: 128 becomes 8.
    try expectSteps(codestream([120, 128, 135], depth: 0x03), middle: 136, "4 bits")
    try expectSteps(codestream([120, 128, 135], depth: 0x83), middle: 136, "4 bits, signed")
  }

  @Test(
    "The profile of a JPEG 2000 counts, and its palette is of its colours",
    arguments: [false, true])
  func profile(hasPalette: Bool) throws {
    let plain =
      hasPalette
      ? try Pictures.paletteJP2(width: 90, height: 60, palette: [[255, 0, 0]]) { _, _ in 0 }
      : try Pictures.file(Pictures.plain([255, 0, 0], width: 90, height: 60), ".jp2[lossless]")
    let bytes = Pictures.withColors([2, 0, 0] + Self.blueProfile, in: plain)
    for side in [90, 40] {
      let made = try run.thumbnail(bytes, maxPixelSize: side)
      let found = made.picture.color(x: 0.3...0.7, y: 0.3...0.7)
      #expect(Pictures.distance(found, [0, 0, 255]) <= 24, "\(side): \(found)")
    }
    #expect(try PluginRun("identify").facts(bytes)["colorSpace"] == "unknown")
  }

  @Test("A profile of JPEG 2000 that makes no colours is none")
  func uselessProfile() throws {
    var flat = MatrixProfile.adobeRGB.bytes
    // All colorants alike.
    let tags = try ["rXYZ", "gXYZ", "bXYZ"].map { name in
      try #require(flat.indices.first { flat[$0...].starts(with: Array(name.utf8)) }) + 4
    }
    for tag in tags.dropFirst() {
      flat.replaceSubrange(tag..<(tag + 8), with: flat[tags[0]..<(tags[0] + 8)])
    }
    var strange = MatrixProfile.adobeRGB.bytes
    strange.replaceSubrange(16..<20, with: "GBR ".utf8)
    let picture = try Pictures.plain([200, 80, 40], width: 90, height: 60)
    for profile in [flat, strange] {
      let bytes = Pictures.withColors(
        [2, 0, 0] + profile, in: try Pictures.file(picture, ".jp2[lossless]"))
      let made = try run.thumbnail(bytes, maxPixelSize: 60, options: ["format": "png"])
      let found = made.picture.color(x: 0.3...0.7, y: 0.3...0.7)
      #expect(Pictures.distance(found, [200, 80, 40]) <= 2, "\(found)")
      #expect(try PluginRun("identify").facts(bytes)["colorSpace"] == "srgb")
    }
  }

  @Test("A palette of JPEG 2000 is resolved in every size", arguments: ["fast", "exact"])
  func palette(scaling: String) throws {
    let bytes = try Pictures.paletteJP2(
      width: 640, height: 480,
      palette: [[200, 80, 40], [0, 255, 0], [20, 30, 220]]
    ) { x, _ in x < 320 ? 0 : 2 }
    for side in [640, 100] {
      let made = try run.thumbnail(
        bytes, maxPixelSize: side, options: ["format": "png", "scaling": .string(scaling)])
      for (place, wanted) in [(0.05...0.45, [200, 80, 40]), (0.55...0.95, [20, 30, 220])] {
        let found = made.picture.color(x: place, y: 0.1...0.9)
        #expect(Pictures.distance(found, wanted) <= 2, "\(side): \(found)")
      }
    }
    // A palette for a component that the codestream lacks, and no codestream.
    var wrong = bytes
    let map = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("cmap".utf8)) })
    wrong[map + 5] = 1
    #expect(try run.failure(wrong).reason.contains("by libvips"))
    #expect(try run.failure(wrong, type: "image/jp2").class == .permanent)
    #expect(try run.failure(Pictures.truncated(bytes)).class == .permanent)
  }

  @Test("A palette of JPEG 2000 is found wherever a decoder would find it")
  func hiddenPalette() throws {
    let bytes = try Pictures.paletteJP2(
      width: 64, height: 48, palette: [[9, 9, 9], [200, 80, 40]]
    ) {
      x, _ in UInt8(x / 32)
    }
    func place(_ name: String) throws -> Int {
      try #require(bytes.indices.first { bytes[$0...].starts(with: Array(name.utf8)) }) - 4
    }
    let (header, table, data) = (try place("jp2h"), try place("pclr"), try place("jp2c"))
    let inside = Array(bytes[(header + 8)..<table])
    let empty = Array(repeating: Pictures.box("free", []), count: 4100).flatMap { $0 }
    let whole = Array(bytes[header..<data])
    let isDecoded = !DecoderTable.absent.contains("openjpeg")
    for hidden in [
      Pictures.box("jp2h", inside) + bytes[table..<data], Pictures.box("jp2h", inside) + whole,
      empty + whole, Pictures.box("jp2h", inside + empty + bytes[table..<data]),
    ] {
      let file = Array(bytes[..<header]) + hidden + bytes[data...]
      // Without a type, which chooses the decoder, libvips would have to read it.
      let failure = try run.failure(file)
      #expect(failure.class == .permanent && failure.reason.contains("boxes"), "\(failure.reason)")
      guard isDecoded else { continue }
      let picture = try run.thumbnail(
        file, maxPixelSize: 32, options: ["format": "png"], type: "image/jp2"
      ).picture
      #expect(picture.width == 32 && picture.height == 24)
      let right = picture.color(x: 0.6...0.9, y: 0.1...0.9)
      #expect(Pictures.distance(right, [200, 80, 40]) <= 2, "\(right)")
    }
  }

  @Test("Colours of an OpenEXR picture are multiplied with its alpha")
  func associatedAlpha() throws {
    // White at half cover, and a colour at a quarter.
    let bytes = Pictures.openEXR(width: 90, height: 60, hasAlpha: true) { x, _, band in
      x < 45 ? 0.5 : band == 3 ? 0.25 : band == 0 ? 0.25 : 0
    }
    for (format, tolerance) in [("jpeg", 6), ("png", 3)] {
      let made = try run.thumbnail(bytes, maxPixelSize: 45, options: ["format": .string(format)])
      // As it is read back, on white.
      let (left, right) = (
        made.picture.color(x: 0.1...0.4, y: 0.2...0.8),
        made.picture.color(x: 0.6...0.9, y: 0.2...0.8)
      )
      #expect(Pictures.distance(left, [255, 255, 255]) <= tolerance, "\(format): \(left)")
      #expect(Pictures.distance(right, [255, 191, 191]) <= tolerance, "\(format): \(right)")
    }
  }

  @Test("A profile with a table for the perceptual intent only is heeded")
  func perceptualProfile() throws {
    let picture = try Pictures.plain([255, 0, 0], width: 90, height: 60).editingMetadata { editor in
      editor.set(Picture.Field.profile, Self.blueProfile)
    }
    let made = try run.thumbnail(Pictures.file(picture, ".png"), maxPixelSize: 60)
    let found = made.picture.color(x: 0.3...0.7, y: 0.3...0.7)
    #expect(Pictures.distance(found, [0, 0, 255]) <= 24, "\(found)")
  }

  /// A profile by whose only table every colour of RGB is blue.
  ///
  /// Source: ICC.1:2022, sections 7.2, 7.3 and 10.10.
  private static let blueProfile: [UInt8] = {
    func big(_ value: Int, _ count: Int) -> [UInt8] { TIFFTags.number(value, count).reversed() }
    let curve = (0...255).map { UInt8($0) }
    // The blue of sRGB in Lab: 29.6, 68.3, -112.0.
    let blue: [UInt8] = [75, 196, 16]
    let one = big(0x10000, 4)
    let nothing = big(0, 12)
    var table = Array("mft1".utf8) + big(0, 4) + [3, 3, 2, 0]
    table += one + nothing + one + nothing + one
    table += curve + curve + curve + (0..<8).flatMap { _ in blue } + curve + curve + curve
    let start = 128 + 4 + 12
    var header = [UInt8](repeating: 0, count: 128)
    header.replaceSubrange(0..<4, with: big(start + table.count, 4))
    header.replaceSubrange(8..<12, with: [2, 0x40, 0, 0])
    header.replaceSubrange(12..<24, with: "scnrRGB Lab ".utf8)
    header.replaceSubrange(36..<40, with: "acsp".utf8)
    header.replaceSubrange(68..<80, with: [0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D])
    return header + big(1, 4) + Array("A2B0".utf8) + big(start, 4) + big(table.count, 4) + table
  }()

  @Test("A HEIF beyond libheif's limit of a side fails with that limit")
  func largestSide() throws {
    let picture = try Picture.pixels(
      [UInt8](repeating: 200, count: 16 * 17000), width: 16, height: 17000, bands: 1)
    let failure = try run.failure(try Pictures.file(picture, ".avif[effort=0]"))
    #expect(failure.class == .permanent && failure.reason.contains("16384"), "\(failure.reason)")
    #expect(!failure.reason.contains("memory"), "\(failure.reason)")
  }
}
