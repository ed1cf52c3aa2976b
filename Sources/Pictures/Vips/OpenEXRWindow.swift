import Containers

/// Where the pixels of an OpenEXR picture lie in it: they can be a part of it, or more than it.
///
/// libvips 8.14 takes the pixels that there are for the picture. Source: “OpenEXR File Layout”, and “Technical
/// Introduction to OpenEXR”, windows.
struct OpenEXRWindow {
  /// Where the first pixel lies, from the picture's top left; negative if it is outside.
  let x: Int
  let y: Int
  /// The picture's size.
  let width: Int
  let height: Int
  /// Whether it has an alpha of its own; libvips adds one.
  let hasAlpha: Bool

  /// The longest side of the picture, so that a row fits into memory.
  private static let longestSide = 1 << 16
  /// The most pixels of the picture, which may be black almost everywhere.
  private static let mostPixels = 100_000_000
  /// The most attributes that are looked at.
  private static let attributeLimit = 256
  /// The longest name, with the byte that ends it.
  private static let longestName = 256
  /// The most bytes of the list of channels.
  private static let longestChannels = 1 << 16
  private static let alpha: [UInt8] = Array("A\0".utf8)

  /// The windows and the channels of a file's first part; `nil` if its header can't be read.
  private static func header(
    _ reader: ByteReader
  ) -> (boxes: [String: [Int]], channels: [UInt8])? {
    var boxes: [String: [Int]] = [:]
    var channels: [UInt8] = []
    // A signature and a version.
    var at = 8
    for _ in 0..<Self.attributeLimit {
      guard let name = Self.text(reader, at) else { return nil }
      if name.isEmpty { break }
      guard let type = Self.text(reader, at + name.utf8.count + 1)
      else { return nil }
      at += name.utf8.count + type.utf8.count + 2
      guard let size = reader.number(at: at, 4, littleEndian: true) else { return nil }
      at += 4
      if type == "box2i", size == 16, ["dataWindow", "displayWindow"].contains(name) {
        let numbers = (0..<4).compactMap { reader.number(at: at + $0 * 4, 4, littleEndian: true) }
        boxes[name] = numbers.map { Int(Int32(truncatingIfNeeded: $0)) }
      }
      if name == "channels", size <= Self.longestChannels {
        channels = reader.bytes(at..<(at + size)) ?? []
      }
      at += size
    }
    return (boxes, channels)
  }

  /// How many columns the pixels have, for which libvips 8.14 says 1 if there are too many for it; `nil` as above.
  static func columns(_ reader: ByteReader) -> Int? {
    guard let box = header(reader)?.boxes["dataWindow"], box.count == 4 else { return nil }
    return box[2] - box[0] + 1
  }

  /// Parses the header; `nil` if its pixels are the picture, or none of them is in it.
  init?(_ reader: ByteReader) {
    guard let (boxes, channels) = Self.header(reader) else { return nil }
    guard let pixels = boxes["dataWindow"], let picture = boxes["displayWindow"],
      pixels.count == 4, picture.count == 4, pixels != picture,
      (0..<Self.longestSide).contains(picture[2] - picture[0]),
      (0..<Self.longestSide).contains(picture[3] - picture[1]),
      (picture[2] - picture[0] + 1) * (picture[3] - picture[1] + 1) <= Self.mostPixels,
      max(pixels[0], picture[0]) <= min(pixels[2], picture[2]),
      max(pixels[1], picture[1]) <= min(pixels[3], picture[3])
    else { return nil }
    // Each begins with its name, behind the 16 bytes of the one before.
    hasAlpha =
      channels.starts(with: Self.alpha)
      || channels.indices.contains { index in
        index > 16 && channels[index...].starts(with: Self.alpha) && channels[index - 1] == 0
      }
    (x, y) = (pixels[0] - picture[0], pixels[1] - picture[1])
    (width, height) = (picture[2] - picture[0] + 1, picture[3] - picture[1] + 1)
  }

  private static func text(_ reader: ByteReader, _ start: Int) -> String? {
    guard start < reader.size,
      let bytes = reader.bytes(start..<min(start + longestName, reader.size)),
      let end = bytes.firstIndex(of: 0)
    else { return nil }
    // Ends of names are found by their lengths, so these must be ASCII.
    return bytes[..<end].allSatisfy { $0 < 0x80 }
      ? String(decoding: bytes[..<end], as: UTF8.self) : nil
  }
}
