import Containers
import Fixtures
import Foundation
import PictureDecoding
import PipelineModel
import PipelinePlugin
import Testing

@Suite(
  "TIFFs that libvips does not read", .timeLimit(.minutes(1)),
  .enabled(if: !DecoderTable.absent.contains("magick"), "the decoder of old kinds is left out"))
struct DeepTIFFTests {
  /// How a sample is stored.
  enum Sample: CaseIterable {
    case bits10, bits12, bits14, half, double

    var bits: Int {
      switch self {
      case .bits10: 10
      case .bits12: 12
      case .bits14: 14
      case .half: 16
      case .double: 64
      }
    }

    var isFloat: Bool { self == .half || self == .double }

    /// A row's samples, from 0 to 1.
    func row(_ values: [Double]) -> [UInt8] {
      if self == .half {
        return values.flatMap { TIFFTags.number(Int(Float16($0).bitPattern), 2) }
      }
      if self == .double {
        return values.flatMap { TIFFTags.number(Int(bitPattern: UInt($0.bitPattern)), 8) }
      }
      // The upper bits of a sample come first, in either order of bytes.
      let digits = values.flatMap { value in
        let number = Int((value * Double(1 << bits - 1)).rounded())
        return (0..<bits).reversed().map { number >> $0 & 1 }
      }
      return stride(from: 0, to: digits.count, by: 8).map { start in
        UInt8((start..<(start + 8)).reduce(0) { $0 << 1 | ($1 < digits.count ? digits[$1] : 0) })
      }
    }
  }

  private static let type = "image/tiff"

  /// A TIFF of 64 × 32 pixels in one strip, or one a plane: its halves have one colour each.
  private func file(
    _ sample: Sample, left: [Double], right: [Double], hasPlanes: Bool = false,
    compression: Int = 1, photometric: Int? = nil, orientation: Int = 1, profile: [UInt8] = []
  ) -> [UInt8] {
    let planes = hasPlanes ? left.indices.map { [$0] } : [Array(left.indices)]
    let strips = planes.map { plane -> [UInt8] in
      let row = sample.row(
        (0..<64).flatMap { column in plane.map { (column < 32 ? left : right)[$0] } })
      return (0..<32).flatMap { _ in row }
    }
    var tags = TIFFTags()
    tags.long(256, [64])
    tags.long(257, [32])
    tags.short(258, [Int](repeating: sample.bits, count: left.count))
    tags.short(259, [compression])
    tags.short(262, [photometric ?? (left.count == 1 ? 1 : 2)])
    tags.short(274, [orientation])
    tags.short(277, [left.count])
    tags.long(278, [32])
    tags.short(284, [hasPlanes ? 2 : 1])
    if left.count == 4 { tags.short(338, [2]) }
    if sample.isFloat { tags.short(339, [Int](repeating: 3, count: left.count)) }
    if !profile.isEmpty { tags.byte(34675, profile.map { Int($0) }) }
    let lengths = strips.map(\.count)
    tags.long(273, lengths.indices.map { 8 + lengths[..<$0].reduce(0, +) })
    tags.long(279, lengths)
    let end = 8 + lengths.reduce(0, +)
    return Array("II*\0".utf8) + TIFFTags.number(end, 4) + strips.flatMap(\.self)
      + tags.bytes(at: end)
  }

  private func halves(_ bytes: [UInt8]) throws -> (left: [Int], right: [Int]) {
    let picture = try PluginRun("thumbnail").thumbnail(bytes, maxPixelSize: 64, type: Self.type)
      .picture
    return (picture.color(x: 0.1...0.4, y: 0.2...0.8), picture.color(x: 0.6...0.9, y: 0.2...0.8))
  }

  @Test("Samples of other sizes have their values", arguments: Sample.allCases, [false, true])
  func samples(sample: Sample, hasPlanes: Bool) throws {
    let color = try halves(
      file(sample, left: [1, 0.5, 0], right: [0, 0.25, 1], hasPlanes: hasPlanes))
    #expect(Pictures.distance(color.left, [255, 128, 0]) <= 6, "\(color.left)")
    #expect(Pictures.distance(color.right, [0, 64, 255]) <= 6, "\(color.right)")
    let grey = try halves(file(sample, left: [1], right: [0.25]))
    #expect(grey.left.allSatisfy { abs($0 - 255) <= 3 }, "\(grey.left)")
    #expect(grey.right.allSatisfy { abs($0 - 64) <= 3 }, "\(grey.right)")
  }

  @Test(
    "Tiles in separate planes, also with alpha", arguments: [(8, true), (16, true), (32, false)])
  func tiles(bits: Int, hasAlpha: Bool) throws {
    let color = try halves(Pictures.tiledPlanesTIFF(bits: bits, hasAlpha: hasAlpha))
    #expect(Pictures.distance(color.left, [255, 0, 0]) <= 12, "\(color.left)")
    #expect(Pictures.distance(color.right, [0, 0, 255]) <= 12, "\(color.right)")
  }

  @Test("Orientation and profile count")
  func tags() throws {
    let profile = MatrixProfile.adobeRGB.bytes
    let bytes = file(
      .bits12, left: [0, 1, 0], right: [0, 0, 0], orientation: 6, profile: profile)
    let facts = try PluginRun("identify").facts(bytes)
    #expect(facts["mediaType"] == .string(Self.type) && facts["problem"] == nil)
    #expect(facts["width"] == 32 && facts["height"] == 64 && facts["orientation"] == 6)
    #expect(facts["bitDepth"] == 12 && facts["alpha"] == false)
    let run = try PluginRun("thumbnail")
    let upright = try run.thumbnail(bytes, maxPixelSize: 64, type: Self.type).picture
    #expect(upright.width == 32 && upright.height == 64)
    #expect(Pictures.distance(upright.color(x: 0.2...0.8, y: 0.6...0.9), [0, 0, 0]) <= 6)
    let decoded = try LoadedDecoder(path: DecoderTable.path(of: "magick")).decode(
      DecoderRequest(path: run.folder.appending(path: "picture.jpg").path, mediaType: Self.type),
      isCancelled: { false })
    #expect(decoded.profile == profile && decoded.orientation == 6 && decoded.damage == nil)
  }

  @Test("All pages are counted, each once")
  func pages() throws {
    let one = file(.bits12, left: [1], right: [0])
    func number(_ place: Int, _ count: Int) -> Int {
      (0..<count).reduce(0) { $0 | Int(one[place + $1]) << (8 * $1) }
    }
    // The offset of the next directory stands behind the entries.
    let start = number(4, 4)
    let link = start + 2 + number(start, 2) * 12
    for (next, pages) in [(0, 1), (one.count, 2), (start, 1)] {
      var bytes = one
      bytes.replaceSubrange(link..<(link + 4), with: TIFFTags.number(next, 4))
      bytes += one[start..<(link + 4)]
      #expect(try PluginRun("identify").facts(bytes)["pages"] == .integer(pages))
    }
  }

  @Test("Pixels that can't be decoded are not shown as if they were whole")
  func damage() throws {
    let run = try PluginRun("thumbnail")
    // No stream of zlib.
    let bytes = file(.bits12, left: [1, 0.5, 0], right: [0, 0.25, 1], compression: 8)
    let result = try run.process(
      bytes, options: ["sizes": [["name": "a", "maxPixelSize": 64]]], type: Self.type)
    switch result {
    case .failed(let failure): #expect(failure.class == .permanent)
    case .done(_, let renditions): #expect(renditions.first?.from == "damaged")
    case .skipped: Issue.record("skipped")
    }
  }

  @Test("What MagickCore shows wrongly is left to libvips, which refuses it")
  func unsuitable() throws {
    let run = try PluginRun("thumbnail")
    for bytes in [
      file(.bits12, left: [1], right: [0], photometric: 0),
      Pictures.tiledPlanesTIFF(side: 1 << 13, hasAlpha: true),
    ] {
      #expect(try run.failure(bytes, type: Self.type).reason.contains("TIFF"))
    }
  }
}
