import Fixtures
import Foundation
import PipelineModel
import Testing
import Vips

/// The samples of `doctor`, through the whole program.
@Suite("Samples of kinds", .timeLimit(.minutes(5)))
struct SampleKindTests {
  private static let samples = "Sources/Stages/PluginTesting/Samples"
  /// Decoders of samples that libvips does not decode.
  private static let decoders = [
    "bmp": "magick", "ico": "magick", "pcx": "magick", "tga": "magick", "psd": "magick",
    "dng": "raw", "mp4": "video", "webm": "video",
  ]
  /// Loaders of samples that libvips may lack.
  private static let loaders: [String: PictureLoader] = [
    "jp2": .jp2k, "jxl": .jxl, "hdr": .hdr, "exr": .exr, "fits": .fits, "svg": .svg, "pdf": .pdf,
    "heic": .heif, "avif": .heif,
  ]
  /// The colours of the quarters of the drawings.
  private static let drawn = [
    [0xE0, 0x20, 0x20], [0x20, 0xA0, 0x20], [0x20, 0x20, 0xE0], [0xF0, 0xE0, 0x40],
  ]

  private static func canDecode(_ suffix: String) -> Bool {
    if let decoder = decoders[suffix] { return BuiltCopy.decoders.contains(decoder) }
    return loaders[suffix].map(VipsLibrary.loaders.contains) ?? true
  }

  @Test("The samples of all kinds show the same picture")
  func samples() throws {
    let workspace = try Workspace(stages: Workspace.stages(sizes: ["grid": 64]))
    let folder = Checkout.root.appending(path: Self.samples).path
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      .filter { $0.hasPrefix("picture.") }
    #expect(names.count == 23)
    for name in names {
      let bytes = try Checkout.bytes(of: "\(Self.samples)/\(name)")
      #expect(bytes.count < 10_000, "\(name)")
      try workspace.put(bytes, as: BytePath(name))
    }
    _ = try workspace.run("run")
    let reference = try workspace.rendition("grid", of: workspace.asset(named: "picture.png"))
    for name in names.sorted() {
      let suffix = String(name.dropFirst("picture.".count))
      let asset = try workspace.asset(named: name)
      guard Self.canDecode(suffix) else {
        #expect(asset["renditions"] == [], "\(name)")
        continue
      }
      let reading = try workspace.rendition("grid", of: asset)
      if suffix == "fits" {
        // Measurements are stretched to what can be seen; of three planes, the first is shown.
        #expect(reading.corners.allSatisfy { Set($0).count == 1 }, "\(reading.corners)")
        #expect(reading.corners[0][0] + 10 < reading.corners[1][0])
        continue
      }
      let isDrawn = ["svg", "pdf"].contains(suffix)
      let expected = isDrawn ? Self.drawn : reference.corners
      for (corner, color) in zip(reading.corners, expected) {
        #expect(Pictures.distance(corner, color) < 40, "\(name): \(corner) for \(color)")
      }
    }
  }

  @Test(
    "A raw file without its decoder is kept, and gets its thumbnail once the decoder is there",
    .enabled(if: BuiltCopy.decoders.contains("raw"), "This build leaves the decoder out."))
  func decoderComes() throws {
    let copy = try BuiltCopy(without: ["raw"])
    let workspace = try Workspace(stages: Workspace.stages(sizes: ["grid": 64]))
    workspace.program.program = copy.program.program
    try workspace.put(Checkout.bytes(of: "\(Self.samples)/picture.dng"), as: "a.dng")
    let first = try workspace.json("run")
    #expect(first.outcome("a.dng") == "imported")
    #expect(try workspace.asset(named: "a.dng")["renditions"] == [])
    #expect(try workspace.json("run").of("job") == [])
    try copy.add(decoder: "raw")
    let second = try workspace.json("run")
    #expect(second.of("job").map { $0["outcome"] } == ["done"])
    let asset = try workspace.asset(named: "a.dng")
    #expect(try workspace.rendition("grid", of: asset).width == 48)
    try workspace.expectSound()
  }
}
