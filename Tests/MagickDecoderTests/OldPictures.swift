import Foundation
import PictureDecoding
import PipelineModel

/// Small files of old kinds, written byte by byte: four pixels in two rows, or two colours.
enum OldPictures {
  /// Red and green above blue and white.
  static let corners: [UInt8] = [255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255]

  static func little(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  static func big(_ value: Int, _ count: Int) -> [UInt8] { little(value, count).reversed() }

  static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  /// A BMP with a header of 40 bytes, or more if there are masks of four channels or it is OS/2's.
  static func bitmap(
    width: Int = 2, height: Int = 2, bits: Int, compression: Int = 0, masks: [Int] = [],
    palette: [UInt8] = [], isOS2: Bool = false, _ pixels: [UInt8]
  ) -> [UInt8] {
    let size = isOS2 ? 64 : masks.count == 4 ? 56 : 40
    let more = isOS2 ? zeros(24) : masks.flatMap { little($0, 4) }
    let start = 14 + 40 + more.count + palette.count
    return Array("BM".utf8) + little(start + pixels.count, 4) + zeros(4) + little(start, 4)
      + little(size, 4) + little(width, 4) + little(height, 4) + little(1, 2) + little(bits, 2)
      + little(compression, 4) + little(pixels.count, 4) + zeros(8)
      + little(palette.count / 4, 4) + zeros(4) + more + palette + pixels
  }

  /// Blue, green, red and nothing of the corners' colours.
  static let palette: [UInt8] = [0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 0, 255, 255, 255, 0]

  /// A TGA of four bytes a pixel, whose alpha is half.
  ///
  /// - Parameter origin: bit 0: from the right; bit 1: from the top.
  static func targa(origin: Int, isCompressed: Bool) -> [UInt8] {
    var out = [0, 0, isCompressed ? 10 : 2] + zeros(9) + little(2, 2) + little(2, 2)
    out += [32, UInt8(origin << 4 | 8)]
    for row in origin & 2 != 0 ? [0, 1] : [1, 0] {
      for column in origin & 1 != 0 ? [1, 0] : [0, 1] {
        let at = (row * 2 + column) * 3
        // A packet of one value.
        if isCompressed { out.append(0x80) }
        out += corners[at..<(at + 3)].reversed() + [128]
      }
    }
    return out
  }

  /// A bitmap as in icons: colours, then a mask in which bits of one are transparent.
  static func iconBitmap(side: Int, bits: Int, color: [UInt8], mask: UInt8) -> [UInt8] {
    let header =
      little(40, 4) + little(side, 4) + little(side * 2, 4) + little(1, 2) + little(bits, 2)
      + zeros(24)
    let row = (0..<side).flatMap { _ in color } + zeros((4 - side * color.count % 4) % 4)
    let masks = [UInt8](repeating: mask, count: side * ((side + 31) / 32 * 4))
    return header + (0..<side).flatMap { _ in row } + masks
  }

  /// - Parameter kind: 1 for icons, 2 for cursors.
  static func icon(kind: Int = 1, _ pictures: [(side: Int, data: [UInt8])]) -> [UInt8] {
    var out = little(0, 2) + little(kind, 2) + little(pictures.count, 2)
    var at = 6 + pictures.count * 16
    for picture in pictures {
      // Cursors have the hot spot where icons have planes and bits.
      out += [UInt8(picture.side), UInt8(picture.side), 0, 0] + zeros(4)
      out += little(picture.data.count, 4) + little(at, 4)
      at += picture.data.count
    }
    return out + pictures.flatMap(\.data)
  }

  /// A PCX of 24 bits; one run a plane and row.
  static func pcx(side: Int = 16, color: [UInt8]) -> [UInt8] {
    var out: [UInt8] = [10, 5, 1, 8] + zeros(4)
    out += little(side - 1, 2) + little(side - 1, 2) + little(72, 2) + little(72, 2)
    out += zeros(48) + [0, 3] + little(side, 2) + little(1, 2) + zeros(58)
    for _ in 0..<side { for value in color { out += [0xC0 | UInt8(side), value] } }
    return out
  }

  /// A PCX of one bit a pixel and plane, 16 pixels wide: in every plane the outer four pixels of a row are
  /// ones, the others zeros.
  static func planarPCX(planes: Int, palette: [UInt8]) -> [UInt8] {
    var out: [UInt8] = [10, 5, 1, 1] + zeros(4)
    out += little(15, 2) + little(1, 2) + little(72, 2) + little(72, 2)
    out += palette + zeros(48 - palette.count) + [0, UInt8(planes)] + little(2, 2) + little(1, 2)
    out += zeros(58)
    // A value with its upper bits set stands behind its count.
    for _ in 0..<(2 * planes) { out += [0xC1, 0xF0, 0x0F] }
    return out
  }

  /// A PSD of planes of one value each.
  ///
  /// - Parameters:
  ///   - mode: 1 is grey, 2 indexed, 3 RGB, 4 CMYK, 9 Lab.
  ///   - palette: 256 values of red, then of green and blue, for indexes.
  static func photoshop(
    side: Int = 16, mode: Int, planes: [UInt8], depth: Int = 8, palette: [UInt8] = [],
    resources: [UInt8] = [], layers: [UInt8] = [], isCompressed: Bool = false
  ) -> [UInt8] {
    var out = Array("8BPS".utf8) + big(1, 2) + zeros(6) + big(planes.count, 2)
    out += big(side, 4) + big(side, 4) + big(depth, 2) + big(mode, 2)
    out +=
      big(palette.count, 4) + palette + big(resources.count, 4) + resources
      + big(layers.count, 4) + layers + big(isCompressed ? 1 : 0, 2)
    if isCompressed {
      // A row is one run: its length less one, negative.
      for _ in 0..<(side * planes.count) { out += big(2, 2) }
      for value in planes { for _ in 0..<side { out += [UInt8(257 - side), value] } }
      return out
    }
    for value in planes { out += [UInt8](repeating: value, count: side * side * depth / 8) }
    return out
  }

  /// A Photoshop resource.
  static func resource(_ identifier: Int, _ data: [UInt8]) -> [UInt8] {
    Array("8BIM".utf8) + big(identifier, 2) + [0, 0] + big(data.count, 4) + data
      + zeros(data.count % 2)
  }

  /// An SGI picture of three planes of one value each.
  static func siliconGraphics(side: Int = 16, color: [UInt8]) -> [UInt8] {
    let header =
      [0x01, 0xDA, 0, 1] + big(3, 2) + big(side, 2) + big(side, 2) + big(3, 2) + big(0, 4)
      + big(255, 4)
    return header + zeros(512 - header.count)
      + color.flatMap { [UInt8](repeating: $0, count: side * side) }
  }
}

/// The decoder, loaded from the folder that this test was built in, and a file for it.
final class OldFile {
  let path: String
  let mediaType: String

  /// - Parameter name: the file's name, which must not matter.
  init(_ bytes: [UInt8], _ mediaType: String, name: String = "picture") throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "old-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    let url = folder.appending(path: name)
    try Data(bytes).write(to: url)
    path = url.path
    self.mediaType = mediaType
  }

  // Clean-up only.
  deinit {
    try? FileManager.default.removeItem(
      at: URL(fileURLWithPath: path).deletingLastPathComponent())
  }

  private static func decoder() throws -> LoadedDecoder {
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let folder = URL(fileURLWithPath: program).deletingLastPathComponent()
    return try LoadedDecoder(path: folder.appending(path: "libpicture-decoder-magick.so").path)
  }

  func decode(isCancelled: () -> Bool = { false }) throws -> DecodedPicture {
    try Self.decoder().decode(
      DecoderRequest(path: path, mediaType: mediaType), isCancelled: isCancelled)
  }

  func facts() throws -> [String: JSONValue] {
    try Self.decoder().facts(
      DecoderRequest(path: path, mediaType: mediaType), isCancelled: { false })
  }

  /// Decodes any file.
  static func decode(_ request: DecoderRequest) throws -> DecodedPicture {
    try decoder().decode(request, isCancelled: { false })
  }
}

/// A regular file with a size that Linux refuses to read: the speed of the loopback device.
enum Unreadable {
  static let path = "/sys/class/net/lo/speed"
  static var exists: Bool {
    FileManager.default.isReadableFile(atPath: path)
      && FileManager.default.contents(atPath: path) == nil
  }
}
