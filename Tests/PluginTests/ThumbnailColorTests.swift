import Fixtures
import PipelineModel
import PipelinePlugin
import Testing
import Vips

@Suite("Thumbnail colours and formats", .timeLimit(.minutes(2)))
struct ThumbnailColorTests {
  let run: PluginRun
  let color: [UInt8] = [200, 80, 40]
  var wanted: [Int] { color.map(Int.init) }

  init() throws { run = try PluginRun("thumbnail") }

  private func middle(_ thumbnail: Thumbnail) -> [Int] {
    thumbnail.picture.color(x: 0.3...0.7, y: 0.3...0.7)
  }

  @Test("A P3 picture has right colours in sRGB")
  func displayP3() throws {
    let bytes = try Pictures.profiled(try Pictures.plain(color), "p3", as: ".jpg[Q=95]")
    // Taken for sRGB the stored values would be wrong, so this test can tell.
    let raw = try PicturesReading(bytes)
    #expect(Pictures.distance(raw.color(x: 0.3...0.7, y: 0.3...0.7), wanted) > 10)
    let thumbnail = try run.thumbnail(bytes)
    #expect(Pictures.distance(middle(thumbnail), wanted) <= 4)
    #expect(thumbnail.picture.profile == nil)
  }

  @Test("A CMYK picture has right colours in sRGB")
  func cmyk() throws {
    let bytes = try Pictures.profiled(try Pictures.plain(color), "cmyk", as: ".jpg[Q=95]")
    #expect(try PicturesReading(bytes).bands == 4)
    let thumbnail = try run.thumbnail(bytes)
    #expect(thumbnail.picture.bands == 3)
    #expect(Pictures.distance(middle(thumbnail), wanted) <= 16)
  }

  @Test(
    "p3 converts to Display P3 and embeds that profile", arguments: ["jpeg", "png", "webp", "avif"])
  func toP3(format: String) throws {
    let bytes = try Pictures.file(try Pictures.plain(color), ".png")
    let thumbnail = try run.thumbnail(
      bytes, options: ["colorSpace": "p3", "format": .string(format)])
    #expect(thumbnail.picture.profile?.known == .p3)
    let p3 = try PicturesReading(
      try Pictures.profiled(try Pictures.plain(color), "p3", as: ".png"))
    #expect(Pictures.distance(middle(thumbnail), p3.color(x: 0.3...0.7, y: 0.3...0.7)) <= 6)
  }

  @Test(
    "keep leaves values and profile alone and still drops the rest",
    arguments: ["jpeg", "png", "webp"])
  func keep(format: String) throws {
    let exif = PicturesExif(orientation: 6)
    let stored = try Pictures.profiled(
      try Pictures.plain(color), "p3", as: ".jpg[Q=95,strip=false]")
    let bytes = Pictures.insert(exif.bytes, into: stored)
    let raw = try PicturesReading(bytes).color(x: 0.3...0.7, y: 0.3...0.7)
    let thumbnail = try run.thumbnail(
      bytes, options: ["colorSpace": "keep", "format": .string(format)])
    #expect(thumbnail.picture.profile?.known == .p3)
    #expect(Pictures.distance(middle(thumbnail), raw) <= 4)
    #expect(thumbnail.picture.exif == nil)
  }

  @Test("Alpha is put on white for JPEG and kept by the others")
  func alpha() throws {
    let bytes = try Pictures.alphaPNG(color)
    let jpeg = try run.thumbnail(bytes)
    #expect(jpeg.picture.bands == 3)
    #expect(
      Pictures.distance(jpeg.picture.color(x: 0.6...0.9, y: 0.2...0.8), [255, 255, 255]) <= 2)
    #expect(Pictures.distance(jpeg.picture.color(x: 0.1...0.4, y: 0.2...0.8), wanted) <= 4)
    for format: JSONValue in ["png", "webp"] {
      let kept = try run.thumbnail(bytes, options: ["format": format])
      #expect(kept.picture.bands == 4)
      #expect(Pictures.distance(kept.picture.color(x: 0.1...0.4, y: 0.2...0.8), wanted) <= 6)
    }
    // Transparent black must not darken the edge of what is opaque.
    let edge = try run.thumbnail(bytes, maxPixelSize: 31).picture.color(x: 0.4...0.6, y: 0.2...0.8)
    #expect(edge.allSatisfy { $0 >= 36 })
  }

  @Test("16 bits become 8")
  func sixteenBit() throws {
    let thumbnail = try run.thumbnail(try Pictures.sixteenBitPNG())
    for (found, corner) in zip(thumbnail.picture.corners, Pictures.corners) {
      #expect(Pictures.distance(found, corner.map(Int.init)) < 24)
    }
    let png = try run.thumbnail(try Pictures.sixteenBitPNG(), options: ["format": "png"])
    // IHDR's bit depth.
    #expect(png.bytes[24] == 8)
  }

  @Test("Grey stays grey")
  func grey() throws {
    let picture = try Pictures.plain([120], width: 300, height: 200)
    for suffix in [".jpg", ".png", ".tif"] {
      let thumbnail = try run.thumbnail(try Pictures.file(picture, suffix))
      #expect(Pictures.distance(middle(thumbnail), [120, 120, 120]) <= 2)
    }
    let p3 = try run.thumbnail(
      try Pictures.file(picture, ".png"), options: ["colorSpace": "p3"])
    #expect(p3.picture.bands == 3 && Pictures.distance(middle(p3), [120, 120, 120]) <= 2)
  }

  @Test("A palette is resolved")
  func palette() throws {
    let bytes = try Pictures.file(try Pictures.picture(grain: 0), ".png[palette]")
    // IHDR's colour type.
    #expect(bytes[25] == 3)
    let thumbnail = try run.thumbnail(bytes)
    for (found, corner) in zip(thumbnail.picture.corners, Pictures.corners) {
      #expect(Pictures.distance(found, corner.map(Int.init)) < 24)
    }
  }

  @Test("The first frame or page is shown", arguments: [".gif", ".webp[lossless]", ".tif"])
  func firstFrame(suffix: String) throws {
    let bytes = try Pictures.frames([[200, 80, 40], [20, 30, 220], [10, 10, 10]], as: suffix)
    let thumbnail = try run.thumbnail(bytes, maxPixelSize: 60)
    #expect(thumbnail.picture.width == 60 && thumbnail.picture.height == 40)
    #expect(Pictures.distance(middle(thumbnail), wanted) <= 8)
  }

  @Test("HEIC and AVIF are decoded", arguments: [".heic", ".heic[compression=av1]"])
  func heif(suffix: String) throws {
    let bytes = try Pictures.file(try Pictures.picture(), suffix)
    let thumbnail = try run.thumbnail(bytes)
    #expect(thumbnail.picture.width == 256 && thumbnail.picture.height == 192)
    for (found, corner) in zip(thumbnail.picture.corners, Pictures.corners) {
      #expect(Pictures.distance(found, corner.map(Int.init)) < 24)
    }
    #expect(try run.failure(Pictures.truncated(bytes)).class == .permanent)
  }

  @Test("HEIC is turned once, by its container or else by EXIF", arguments: [1, 3, 6, 8])
  func heicOrientation(orientation: Int) throws {
    for (exif, container) in [(true, false), (true, true), (false, true)] {
      let bytes = try Pictures.heic(orientation: orientation, exif: exif, container: container)
      let thumbnail = try run.thumbnail(bytes, maxPixelSize: 160)
      #expect(thumbnail.picture.width == 160 && thumbnail.picture.height == 120)
      for (found, corner) in zip(thumbnail.picture.corners, Pictures.corners) {
        #expect(Pictures.distance(found, corner.map(Int.init)) < 24)
      }
      let facts = try PluginRun("identify").facts(bytes)
      #expect(facts["width"] == 320 && facts["height"] == 240)
    }
  }

  @Test("A profile that is damaged or fits another kind of picture spoils no thumbnail")
  func uselessProfile() throws {
    let cmyk = try builtInProfile("cmyk")
    var damaged = try builtInProfile("p3")
    for index in 128..<damaged.count { damaged[index] = 0xA5 }
    for profile in [cmyk, damaged, Array(try builtInProfile("p3").prefix(200)), [1, 2, 3]] {
      let picture = try Pictures.plain(color).editingMetadata { editor in
        editor.set(Picture.Field.profile, profile)
      }
      for suffix in [".jpg[Q=95]", ".png", ".tif"] {
        for space: JSONValue in ["srgb", "p3", "keep"] {
          let thumbnail = try run.thumbnail(
            try Pictures.file(picture, suffix), options: ["colorSpace": space])
          #expect(space == "p3" || Pictures.distance(middle(thumbnail), wanted) <= 4)
        }
      }
    }
  }

  @Test("16 bits of alpha stay through a profile", arguments: ["png", "webp"], ["p3", "srgb"])
  func deepAlpha(format: String, profile: String) throws {
    var bytes: [UInt8] = []
    for _ in 0..<60 {
      for x in 0..<90 { bytes += color + [x < 30 ? 255 : x < 60 ? 128 : 0] }
    }
    let deep = try Picture.pixels(bytes, width: 90, height: 60, bands: 4)
      .colorManaged(to: profile, assuming: "srgb").converted(to: .srgb16)
    let file = try Pictures.file(deep, ".png")
    // IHDR's bit depth and colour type.
    #expect(file[24] == 16 && file[25] == 6)
    for space: JSONValue in ["srgb", "p3"] {
      let thumbnail = try run.thumbnail(
        file, maxPixelSize: 45, options: ["format": .string(format), "colorSpace": space])
      #expect(thumbnail.picture.bands == 4)
      // As it is read back, on white.
      for (place, share) in [(0.05...0.25, 1.0), (0.4...0.6, 0.5), (0.75...0.95, 0)] {
        let found = thumbnail.picture.color(x: place, y: 0.2...0.8)
        let wanted = color.map { Int(Double($0) * share + 255 * (1 - share)) }
        #expect(Pictures.distance(found, wanted) <= (space == "p3" ? 40 : 8), "\(found)")
      }
    }
  }

  @Test("CMYK with alpha is put on white", arguments: [90, 45])
  func cmykAlpha(side: Int) throws {
    var bytes: [UInt8] = []
    for _ in 0..<60 {
      for x in 0..<90 { bytes += x < 45 ? color + [255] : [0, 0, 0, 0] }
    }
    let picture = try Picture.pixels(bytes, width: 90, height: 60, bands: 4)
      .colorManaged(to: "cmyk", assuming: "srgb")
    #expect(picture.bands == 5 && picture.hasAlpha)
    let file = try Pictures.file(picture, ".tif")
    for colorSpace: JSONValue in ["srgb", "keep"] {
      let thumbnail = try run.thumbnail(
        file, maxPixelSize: side, options: ["colorSpace": colorSpace])
      let paper = thumbnail.picture.color(x: 0.6...0.9, y: 0.2...0.8)
      #expect(paper.allSatisfy { $0 >= 250 }, "\(paper)")
      let ink = thumbnail.picture.color(x: 0.1...0.4, y: 0.2...0.8)
      #expect(colorSpace == "keep" || Pictures.distance(ink, wanted) <= 16, "\(ink)")
    }
    let png = try run.thumbnail(file, maxPixelSize: 60, options: ["format": "png"])
    #expect(png.picture.bands == 4)
  }

  @Test("Black ink is black")
  func blackPoint() throws {
    // All of a printer's inks, which reflect some light nevertheless.
    let ink = try Pictures.plain([0, 0, 0], width: 90, height: 60)
    let file = try Pictures.profiled(ink, "cmyk", as: ".tif")
    let found = middle(try run.thumbnail(file, maxPixelSize: 60))
    // Uncompensated it is 37.
    #expect(found.allSatisfy { $0 <= 10 }, "\(found)")
  }

  @Test("Tiny graphics keep their chroma", arguments: ["jpeg", "avif"])
  func tinyChroma(format: String) throws {
    // Columns as narrow as a pixel, of two colours of one lightness.
    for side in [32, 48, 64] {
      var bytes: [UInt8] = []
      for _ in 0..<side {
        for x in 0..<side { bytes += x % 2 == 0 ? [220, 60, 60] : [40, 140, 90] }
      }
      let file = try Pictures.file(
        try .pixels(bytes, width: side, height: side, bands: 3), ".png")
      let pixels = try run.thumbnail(
        file, options: ["format": .string(format), "quality": 85]
      ).picture.pixels
      let row = side / 2 * side
      let red = (0..<side / 2).map { Int(pixels[(row + $0 * 2) * 3]) }.reduce(0, +) / (side / 2)
      let green =
        (0..<side / 2).map { Int(pixels[(row + $0 * 2 + 1) * 3]) }.reduce(0, +)
        / (side / 2)
      #expect((red - green > 120) == (side <= 48), "\(side): \(red), \(green)")
    }
  }

  @Test("A tiled TIFF with separate colour planes is decoded")
  func tiledPlanesTIFF() throws {
    for side in [64, 20] {
      let made = try run.thumbnail(Pictures.tiledPlanesTIFF(), maxPixelSize: side)
      #expect(made.picture.width == side && made.picture.height == side / 2)
      #expect(Pictures.distance(made.picture.color(x: 0.1...0.4, y: 0.2...0.8), [255, 0, 0]) <= 12)
      #expect(Pictures.distance(made.picture.color(x: 0.6...0.9, y: 0.2...0.8), [0, 0, 255]) <= 12)
    }
  }

  @Test("Separate planes that libtiff would show wrongly fail")
  func unsuitablePlanes() throws {
    for file in [
      Pictures.tiledPlanesTIFF(hasAlpha: true), Pictures.tiledPlanesTIFF(bits: 32),
    ] {
      let failure = try run.failure(file)
      #expect(failure.class == .permanent && failure.reason.contains("tile"), "\(failure.reason)")
    }
  }

  @Test("Tiles that are far larger than their picture take no memory")
  func hugeTiles() throws {
    let failure = try run.failure(Pictures.tiledPlanesTIFF(side: 1 << 13))
    #expect(failure.class == .permanent)
    #expect(failure.reason.contains("far larger than the picture"), "\(failure.reason)")
  }

  @Test("A TIFF of luminance and subsampled chroma is decoded", arguments: [1, 3, 6], [1, 2])
  func subsampledTIFF(orientation: Int, sampling: Int) throws {
    let file = Pictures.subsampledTIFF(
      orientation: orientation, sampling: sampling, width: 64, height: 32)
    for scaling: JSONValue in ["fast", "exact"] {
      let options: [String: JSONValue] = ["scaling": scaling]
      for side in [64, 20] {
        let thumbnail = try run.thumbnail(file, maxPixelSize: side, options: options)
        let turns = orientation == 6
        #expect(thumbnail.picture.width == (turns ? side / 2 : side))
        // The left half is red as stored, the right one blue.
        let first = (orientation == 3 ? [0, 0, 254] : [254, 0, 0])
        let found =
          turns
          ? thumbnail.picture.color(x: 0.2...0.8, y: 0.1...0.4)
          : thumbnail.picture.color(x: 0.1...0.4, y: 0.2...0.8)
        #expect(Pictures.distance(found, first) <= 12, "\(found)")
      }
    }
    let facts = try PluginRun("identify").facts(file)
    #expect(facts["problem"] == nil && facts["width"]?.integer == (orientation == 6 ? 32 : 64))
    #expect(facts["decodeBytes"]?["streamed"]?.integer ?? 0 > 0)
  }

  @Test("Profile, alpha and 16 bits together come out right")
  func profileAndAlpha() throws {
    let opaque = try Pictures.plain(color + [255], width: 90, height: 60)
    let bytes = try Pictures.profiled(opaque, "p3", as: ".png")
    for format: JSONValue in ["jpeg", "png", "webp"] {
      let thumbnail = try run.thumbnail(bytes, maxPixelSize: 40, options: ["format": format])
      #expect(Pictures.distance(middle(thumbnail), wanted) <= 6)
    }
    let deep = try opaque.converted(to: .srgb16)
    for format: JSONValue in ["jpeg", "png", "webp"] {
      let thumbnail = try run.thumbnail(
        try Pictures.file(deep, ".png"), maxPixelSize: 40, options: ["format": format])
      #expect(Pictures.distance(middle(thumbnail), wanted) <= 6)
    }
  }
}
