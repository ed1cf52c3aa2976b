import Containers
import Fixtures
import PipelineModel
import PipelinePlugin
import Testing
import Vips

@Suite("Thumbnail metadata and previews", .timeLimit(.minutes(2)))
struct ThumbnailMetadataTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  @Test(
    "No thumbnail carries camera, place or text of the picture",
    arguments: ["jpeg", "webp", "png", "avif"])
  func stripped(format: String) throws {
    let bytes = try Pictures.jpeg(exif: PicturesExif(orientation: 6))
    #expect(contains(bytes, PicturesExif.camera))
    let thumbnail = try run.thumbnail(bytes, options: ["format": .string(format)])
    #expect(!contains(thumbnail.bytes, PicturesExif.camera))
    #expect(!contains(thumbnail.bytes, "Exif"))
    #expect(thumbnail.picture.fields.allSatisfy { !$0.hasPrefix("exif") && !$0.hasPrefix("xmp") })
  }

  @Test("Metadata are kept when asked for, upright", arguments: ["jpeg", "webp", "png"])
  func kept(format: String) throws {
    let bytes = try Pictures.jpeg(exif: PicturesExif(orientation: 6))
    let thumbnail = try run.thumbnail(
      bytes, options: ["strip": false, "format": .string(format)])
    #expect(contains(thumbnail.bytes, PicturesExif.camera))
    #expect([nil, 1].contains(thumbnail.picture.exif?.orientation))
    #expect(thumbnail.picture.width == 256)
  }

  @Test("A preview serves if it is large enough, of the same shape, and the file is whole")
  func preview() throws {
    let marked = try Pictures.file(
      try Pictures.plain([250, 0, 250], width: 160, height: 120), ".jpg[strip]")
    let bytes = try Pictures.jpeg(exif: PicturesExif(orientation: 1, preview: marked))
    let options: [String: JSONValue] = ["fromImage": "ifAbsent"]
    let used = try run.thumbnail(bytes, maxPixelSize: 160, options: options)
    #expect(used.rendition.from == "preview")
    #expect(used.picture.width == 160 && used.picture.height == 120)
    #expect(Pictures.distance(used.picture.corners[0], [250, 0, 250]) < 12)

    let tooSmall = try run.thumbnail(bytes, maxPixelSize: 161, options: options)
    #expect(tooSmall.rendition.from == "image")
    let always = try run.thumbnail(bytes, maxPixelSize: 160)
    #expect(always.rendition.from == "image")
    #expect(Pictures.distance(always.picture.corners[0], [250, 0, 250]) > 50)
    #expect(
      try run.failure(
        Pictures.truncated(bytes, to: 0.9),
        options: [
          "fromImage": "ifAbsent", "sizes": [["name": "one", "maxPixelSize": 160]],
        ]
      ).class == .permanent)
  }

  @Test("A preview is turned like its picture")
  func previewTurned() throws {
    let marked = try Pictures.file(
      try Pictures.plain([250, 0, 250], width: 120, height: 160), ".jpg[strip]")
    let bytes = try Pictures.jpeg(exif: PicturesExif(orientation: 6, preview: marked))
    let used = try run.thumbnail(bytes, maxPixelSize: 100, options: ["fromImage": "ifAbsent"])
    #expect(used.rendition.from == "preview")
    #expect(used.picture.width == 100 && used.picture.height == 75)
  }

  @Test("A preview of another shape, a damaged one or none is passed over")
  func previewPassedOver() throws {
    let bars = try Pictures.file(
      try Pictures.plain([250, 0, 250], width: 160, height: 118), ".jpg[strip]")
    let whole = try Pictures.file(
      try Pictures.plain([250, 0, 250], width: 160, height: 120), ".jpg[strip]")
    let text = try Pictures.file(try Pictures.plain([9, 9, 9], width: 160, height: 120), ".png")
    for preview in [bars, Pictures.truncated(whole, to: 0.7), text, nil] {
      let bytes = try Pictures.jpeg(exif: PicturesExif(preview: preview))
      let made = try run.thumbnail(bytes, maxPixelSize: 160, options: ["fromImage": "ifAbsent"])
      #expect(made.rendition.from == "image")
      for (found, corner) in zip(made.picture.corners, Pictures.corners) {
        #expect(Pictures.distance(found, corner.map(Int.init)) < 24)
      }
    }
  }

  private func contains(_ bytes: [UInt8], _ text: String) -> Bool {
    let wanted = Array(text.utf8)
    return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
  }
}
