import Containers

/// What the header of an OpenEXR file's first part says of its pixels.
///
/// Source: “OpenEXR File Layout”, and “Technical Introduction to OpenEXR”, windows.
struct OpenEXRHeader {
  /// The edges of a window, all within it, in pixels: left, top, right, bottom.
  typealias Edges = (left: Int, top: Int, right: Int, bottom: Int)

  /// The window of the pixels that there are.
  fileprivate var data: Edges?
  /// The window that is the picture.
  fileprivate var display: Edges?
  /// The list of channels, each beginning with its name.
  fileprivate var channels: [UInt8] = []

  /// The most attributes that are looked at.
  private static let attributeLimit = 256
  /// The longest name, with the byte that ends it.
  private static let longestName = 256
  /// The most bytes of the list of channels.
  private static let longestChannels = 1 << 16

  /// Parses the header; `nil` if it can't be read.
  init?(_ reader: ByteReader) {
    // A signature and a version.
    var at = 8
    for _ in 0..<Self.attributeLimit {
      guard let name = Self.text(reader, at) else { return nil }
      if name.isEmpty { break }
      guard let type = Self.text(reader, at + name.utf8.count + 1) else { return nil }
      at += name.utf8.count + type.utf8.count + 2
      guard let size = reader.number(at: at, 4, littleEndian: true) else { return nil }
      at += 4
      switch name {
      case "dataWindow" where type == "box2i" && size == 16: data = Self.edges(reader, at)
      case "displayWindow" where type == "box2i" && size == 16: display = Self.edges(reader, at)
      case "channels" where size <= Self.longestChannels:
        channels = reader.bytes(at..<(at + size)) ?? []
      default: break
      }
      at += size
    }
  }

  /// How many columns the pixels have, for which libvips 8.14 says 1 if there are too many for it;
  /// `nil` if the header does not say.
  var columns: Int? { data.map { $0.right - $0.left + 1 } }

  private static func edges(_ reader: ByteReader, _ start: Int) -> Edges? {
    let numbers = (0..<4).compactMap { index in
      reader.number(at: start + index * 4, 4, littleEndian: true)
        .map { Int(Int32(truncatingIfNeeded: $0)) }
    }
    return numbers.count == 4 ? (numbers[0], numbers[1], numbers[2], numbers[3]) : nil
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

/// Where the pixels of an OpenEXR picture lie in it: they can be a part of it, or more than it.
///
/// libvips 8.14 takes the pixels that there are for the picture.
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
  private static let alpha: [UInt8] = Array("A\0".utf8)

  /// `nil` if a file's pixels are the picture, or none of them is in it.
  init?(_ header: OpenEXRHeader) {
    guard let data = header.data, let display = header.display, data != display,
      (0..<Self.longestSide).contains(display.right - display.left),
      (0..<Self.longestSide).contains(display.bottom - display.top)
    else { return nil }
    (width, height) = (display.right - display.left + 1, display.bottom - display.top + 1)
    guard width * height <= Self.mostPixels,
      max(data.left, display.left) <= min(data.right, display.right),
      max(data.top, display.top) <= min(data.bottom, display.bottom)
    else { return nil }
    (x, y) = (data.left - display.left, data.top - display.top)
    // Each begins with its name, behind the 16 bytes of the one before.
    let channels = header.channels
    hasAlpha =
      channels.starts(with: Self.alpha)
      || channels.indices.contains { index in
        index > 16 && channels[index...].starts(with: Self.alpha) && channels[index - 1] == 0
      }
  }
}
