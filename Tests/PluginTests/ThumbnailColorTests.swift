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
