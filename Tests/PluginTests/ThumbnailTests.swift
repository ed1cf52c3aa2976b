import Containers
import Fixtures
import Foundation
import PipelineModel
import PipelinePlugin
import Testing
import Vips

@Suite("Thumbnails", .timeLimit(.minutes(2)))
struct ThumbnailTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  @Test("All eight orientations give the same upright picture", arguments: 1...8)
  func upright(orientation: Int) throws {
    let reference = try run.thumbnail(try Pictures.jpeg(exif: PicturesExif(orientation: 1)))
    let turned = try run.thumbnail(
      try Pictures.jpeg(exif: PicturesExif(orientation: orientation)))
    #expect(turned.rendition.width == 256 && turned.rendition.height == 192)
    #expect(turned.picture.width == 256 && turned.picture.height == 192)
    #expect(turned.picture.psnr(to: reference.picture) > 30)
    for (found, wanted) in zip(turned.picture.corners, Pictures.corners) {
      #expect(Pictures.distance(found, wanted.map(Int.init)) < 24)
    }
  }

  @Test("Without transform the pixels stay as stored and no tag is left that says otherwise")
  func noTransform() throws {
    let bytes = try Pictures.jpeg(exif: PicturesExif(orientation: 6))
    let thumbnail = try run.thumbnail(bytes, options: ["transform": false])
    #expect(thumbnail.picture.width == 192 && thumbnail.picture.height == 256)
    // The first stored row is the right side of the picture, the first column its top.
    for (found, corner) in zip(thumbnail.picture.corners, [1, 3, 0, 2]) {
      #expect(Pictures.distance(found, Pictures.corners[corner].map(Int.init)) < 24)
    }
    #expect(thumbnail.picture.exif == nil)
    let kept = try run.thumbnail(bytes, options: ["transform": false, "strip": false])
    #expect(kept.picture.exif?.orientation == 6)
  }

  @Test("Nonsense in the orientation tag counts as upright", arguments: [0, 9, 65535])
  func nonsenseOrientation(value: Int) throws {
    let thumbnail = try run.thumbnail(try Pictures.jpeg(exif: PicturesExif(orientation: value)))
    #expect(thumbnail.picture.width == 256 && thumbnail.picture.height == 192)
  }

  @Test("Half a file fails for good and leaves nothing", arguments: [0.5, 0.9, 0.99])
  func truncated(fraction: Double) throws {
    let picture = try Pictures.picture()
    var files = [
      "JPEG": try Pictures.jpeg(), "progressive JPEG": try Pictures.jpeg(progressive: true),
    ]
    files["frames as WebP"] = try Pictures.frames(
      [[200, 10, 10], [10, 10, 200], [10, 200, 10]], as: ".webp")
    for suffix in [".png", ".png[interlace]", ".webp", ".tif", ".tif[compression=lzw]", ".gif"] {
      files[suffix] = try Pictures.file(picture, suffix)
    }
    for (kind, file) in files {
      let result = try run.process(Pictures.truncated(file, to: fraction))
      guard case .failed(let failure) = result else {
        Issue.record("\(kind) was accepted")
        continue
      }
      #expect(failure.class == .permanent, "\(kind)")
      #expect(try run.outputNames.isEmpty)
      run.expectSentence(failure.reason)
    }
  }

  @Test("Failing at a late row leaves no earlier size behind")
  func truncatedExact() throws {
    let bytes = Pictures.truncated(try Pictures.jpeg(width: 1600, height: 1200), to: 0.7)
    #expect(try run.failure(bytes, options: ["scaling": "exact"]).class == .permanent)
  }

  @Test(
    "What is no picture is refused, whatever it is called",
    arguments: [
      "Just a text.\n", "%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\n", "2 2 1 0\n1 2\n3 4\n",
      "%!PS-Adobe-3.0 EPSF-3.0\nshowpage\n", "<!DOCTYPE html>\n<html></html>\n",
      "P1 is a text about planes. P2 too", "P5 4294967298 2 255\nxxxx",
      "P6 2147483647 2147483647 255\nxxx", "P5 100000000000 5 255\nxxxxx",
      "MATLAB 5.0 MAT-file", "1,2,3\n4,5,6\n", "",
    ])
  func notAPicture(content: String) throws {
    let failure = try run.failure(Array(content.utf8), name: "picture.jpg")
    #expect(failure.class == .permanent)
  }

  @Test("A small picture is never enlarged")
  func neverEnlarged() throws {
    let bytes = try Pictures.jpeg(width: 100, height: 60)
    for options: JSONValue in [[:], ["scaling": "exact"]] {
      for (_, thumbnail) in try run.thumbnails(bytes, options: options) {
        #expect(thumbnail.picture.width == 100 && thumbnail.picture.height == 60)
        #expect(thumbnail.rendition.width == 100 && thumbnail.rendition.height == 60)
      }
    }
  }

  @Test("Very flat pictures keep at least one pixel")
  func flat() throws {
    let bytes = try Pictures.file(try Pictures.plain([9, 99, 200], width: 2000, height: 2), ".png")
    let thumbnail = try run.thumbnail(bytes, maxPixelSize: 64)
    #expect(thumbnail.picture.width == 64 && thumbnail.picture.height == 1)
  }

  @Test("Several sizes come from one job, each as large and as written as asked")
  func severalSizes() throws {
    let options: JSONValue = [
      "sizes": [
        ["name": "small", "maxPixelSize": 32, "format": "png"],
        ["name": "large", "maxPixelSize": 512],
        ["name": "web", "maxPixelSize": 128, "format": "webp"],
        ["name": "modern", "maxPixelSize": 64, "format": "avif", "quality": 60],
      ]
    ]
    let made = try run.thumbnails(try Pictures.jpeg(), options: options)
    let wanted: [(String, PictureLoader, Int, Int, String)] = [
      ("small", .png, 32, 24, "image/png"), ("large", .jpeg, 512, 384, "image/jpeg"),
      ("web", .webp, 128, 96, "image/webp"), ("modern", .heif, 64, 48, "image/avif"),
    ]
    #expect(made.count == wanted.count)
    for (name, loader, width, height, type) in wanted {
      let thumbnail = try #require(made[name])
      #expect(thumbnail.picture.loader == loader)
      #expect(thumbnail.picture.width == width && thumbnail.picture.height == height)
      #expect(thumbnail.rendition.mediaType == type && thumbnail.rendition.from == "image")
      #expect(thumbnail.picture.exif == nil)
      for (found, corner) in zip(thumbnail.picture.corners, Pictures.corners) {
        #expect(Pictures.distance(found, corner.map(Int.init)) < 24)
      }
    }
  }

  @Test("Only the sizes that are wanted are made, each as it would be alone")
  func wanted() throws {
    let options: JSONValue = [
      "sizes": [
        ["name": "large", "maxPixelSize": 512], ["name": "small", "maxPixelSize": 32],
        ["name": "middle", "maxPixelSize": 128],
      ]
    ]
    let bytes = try Pictures.jpeg()
    let result = try run.process(bytes, options: options, wanted: ["middle"])
    guard case .done(_, let renditions) = result else { throw Unexpected("\(result)") }
    #expect(renditions.map(\.name) == ["middle"])
    #expect(try run.outputNames == ["middle.jpg"])
    let made = try Data(contentsOf: run.output.appending(path: "middle.jpg"))
    #expect(try run.thumbnail(bytes, maxPixelSize: 128).bytes == Array(made))
  }

  @Test("Fast scaling is near to exact scaling")
  func fastNearExact() throws {
    let bytes = try Pictures.jpeg(width: 1300, height: 900)
    let fast = try run.thumbnail(bytes, options: ["format": "png"])
    let exact = try run.thumbnail(bytes, options: ["format": "png", "scaling": "exact"])
    #expect(fast.picture.psnr(to: exact.picture) > 35)
  }

  @Test("A lower quality makes a smaller file")
  func quality() throws {
    let bytes = try Pictures.jpeg()
    let good = try run.thumbnail(bytes, options: ["quality": 95])
    let poor = try run.thumbnail(bytes, options: ["quality": 30])
    #expect(poor.bytes.count < good.bytes.count / 2)
  }

  @Test("A header that promises too many pixels is refused before any is decoded")
  func bomb() throws {
    var bytes = try Pictures.jpeg(width: 64, height: 64, exif: nil)
    // Height and width in the start of frame.
    let frame = try #require(bytes.indices.first { bytes[$0...].starts(with: [0xFF, 0xC0]) })
    bytes.replaceSubrange((frame + 5)..<(frame + 9), with: [0xFD, 0xE8, 0xFD, 0xE8])
    let failure = try run.failure(bytes)
    #expect(failure.class == .permanent)
    #expect(failure.reason.contains("65000 × 65000") && failure.reason.contains("500 megapixels"))
    let facts = try PluginRun("identify").facts(bytes)
    #expect(facts["width"] == 65000)
    run.expectSentence(try #require(facts["problem"]?.string))
  }

  @Test(
    "Orientation counts in other formats too",
    arguments: [".png", ".webp", ".tif", ".heic[compression=av1]"])
  func orientationElsewhere(suffix: String) throws {
    let stored = Pictures.store(
      Pictures.pixels(width: 200, height: 120), width: 200, height: 120, orientation: 6)
    let picture = try Picture.pixels(
      stored.bytes, width: stored.width, height: stored.height, bands: 3)
    let bytes = try picture.editingMetadata { editor in
      editor.set(Picture.Field.exif, PicturesExif(orientation: 6).bytes)
      editor.set("orientation", 6)
    }.encoded(as: suffix)
    let thumbnail = try run.thumbnail(bytes, maxPixelSize: 100)
    #expect(thumbnail.picture.width == 100 && thumbnail.picture.height == 60)
    for (found, corner) in zip(thumbnail.picture.corners, Pictures.corners) {
      #expect(Pictures.distance(found, corner.map(Int.init)) < 24)
    }
    let facts = try PluginRun("identify").facts(bytes)
    #expect(facts["width"] == 200 && facts["height"] == 120 && facts["orientation"] == 6)
  }
}
