import PictureDecoding

/// A BMP file of Windows or OS/2.
///
/// Read here because MagickCore 6.9.11 shows OS/2's and 16-bit ones in wrong colours, cannot read two
/// bits a pixel, and says nothing of damaged compressed ones. Source: Microsoft's description of
/// bitmap headers, OS/2 2.0's of BITMAPINFOHEADER2, and the BMP suite's notes.
struct BitmapFile {
  enum Compression { case none, run4, run8, run24, huffman, jpeg, png }

  /// The bits of one channel within a pixel.
  struct Channel {
    let shift: Int
    let maximum: Int

    init?(mask: Int) {
      guard mask != 0 else { return nil }
      shift = mask.trailingZeroBitCount
      maximum = mask >> shift
      // Bits of a mask are adjacent.
      guard maximum & (maximum + 1) == 0 else { return nil }
    }

    func value(_ pixel: Int) -> UInt8 {
      let value = pixel >> shift & maximum
      return UInt8(maximum == 255 ? value : (value * 255 + maximum / 2) / maximum)
    }
  }

  let width: Int
  let height: Int
  let bits: Int
  let compression: Compression
  let isTopDown: Bool
  /// Where the pixels begin in the file.
  let start: Int
  /// Red, green and blue of each colour.
  let palette: [[UInt8]]
  /// Red, green, blue and alpha; `nil` where there is none.
  let channels: [Channel?]
  let profile: [UInt8]

  var hasAlpha: Bool { bits > 8 && channels[3] != nil }
  /// The bytes of a row; rows are whole 32-bit words.
  var stride: Int { (width * bits + 31) / 32 * 4 }

  private static let sideLimit = 100_000
  /// The limit of pixels that are stored each, of which a file has an eighth at least.
  private static let plainLimit = 500_000_000
  /// The limit of pixels in runs, of which a byte can stand for a hundred.
  ///
  /// With three or four bytes a pixel and a copy, a file of a megabyte asks for 800 MB at most.
  private static let runLimit = 100_000_000

  /// - Throws: `DecoderError` of code `tooLarge` beyond the limit of pixels.
  static func checkPixels(
    _ width: Int, _ height: Int, isCompressed: Bool
  ) throws(DecoderError) {
    let limit = isCompressed ? runLimit : plainLimit
    guard width * height > limit else { return }
    throw DecoderError(
      .tooLarge,
      "The picture is \(width) × \(height) pixels; the limit is \(limit / 1_000_000) megapixels"
        + (isCompressed ? " if they are compressed" : ""))
  }

  /// Reads the headers.
  ///
  /// - Throws: `DecoderError`; `undecodable` if it is no BMP of a known kind.
  init(_ bytes: UnsafeRawBufferPointer) throws(DecoderError) {
    // An array of bitmaps has a header before the first one's.
    let base = bytes.big(0, 2) == 0x4241 ? 14 : 0
    let info = base + 14
    guard bytes.big(base, 2) == 0x424D, let offset = bytes.little(base + 10, 4),
      let size = bytes.little(info, 4), size == 12 || (16...1024).contains(size)
    else { throw Self.invalid("its header is damaged") }
    let isOld = size == 12
    guard let width = bytes.little(info + 4, isOld ? 2 : 4),
      let rows = bytes.little(info + (isOld ? 6 : 8), isOld ? 2 : 4),
      let bits = bytes.little(info + (isOld ? 10 : 14), 2)
    else { throw Self.invalid("it ends in its header") }
    let signed = isOld ? Int32(rows) : Int32(truncatingIfNeeded: rows)
    self.width = width
    height = Int(signed.magnitude)
    isTopDown = signed < 0
    self.bits = bits
    guard (1...Self.sideLimit).contains(width), (1...Self.sideLimit).contains(height) else {
      throw Self.invalid("it claims to be \(width) × \(height) pixels")
    }
    let code = size >= 20 ? bytes.little(info + 16, 4) ?? 0 : 0
    let isOS2 = size == 64 || (16..<40).contains(size)
    compression = try Self.compression(code, bits, isOS2: isOS2)
    try Self.checkPixels(width, height, isCompressed: compression != .none)
    let hasMasks = code == 3 || code == 6
    channels =
      bits > 8 ? try Self.channels(bytes, info, size, bits, hasMasks: hasMasks) : []
    palette =
      bits > 8 || bits == 0
      ? [] : Self.palette(bytes, info, size, bits, end: offset)
    profile = size >= 124 ? Self.profile(bytes, info) : []
    // Some files give the end of the header as the start of the pixels, and have a palette there.
    let first = info + size
    start = bits <= 8 && offset <= first ? first + palette.count * (isOld ? 3 : 4) : offset
  }

  static func invalid(_ reason: String) -> DecoderError {
    DecoderError(.undecodable, "The BMP can't be decoded: \(reason)")
  }

  private static func compression(
    _ code: Int, _ bits: Int, isOS2: Bool
  ) throws(DecoderError) -> Compression {
    switch (code, bits) {
    case (0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 24), (0, 32): return .none
    case (3, 16), (3, 32), (6, 16), (6, 32): return .none
    case (1, 8): return .run8
    case (2, 4): return .run4
    case (4, 24) where isOS2: return .run24
    // With one bit a pixel there are no masks, which the same number says elsewhere.
    case (3, 1): return .huffman
    case (4, _) where !isOS2: return .jpeg
    case (5, _) where !isOS2: return .png
    default:
      throw invalid("its compression \(code) with \(bits) bits a pixel is unknown")
    }
  }

  private static func channels(
    _ bytes: UnsafeRawBufferPointer, _ info: Int, _ size: Int, _ bits: Int, hasMasks: Bool
  ) throws(DecoderError) -> [Channel?] {
    guard hasMasks else {
      let masks = bits == 16 ? [0x7C00, 0x03E0, 0x001F] : [0xFF0000, 0xFF00, 0xFF]
      // The fourth byte of 32 bits has no meaning without masks.
      return masks.map { Channel(mask: $0) } + [nil]
    }
    // After the plain header of 40 bytes, or in later ones' first new fields.
    let masks = (0..<3).map { bytes.little(info + 40 + $0 * 4, 4) ?? 0 }
    let hasAlpha = size >= 56 || (size == 40 && bytes.little(info + 16, 4) == 6)
    let alpha = hasAlpha ? bytes.little(info + 52, 4) ?? 0 : 0
    let channels = masks.map { Channel(mask: $0) }
    guard zip(masks, channels).allSatisfy({ $0 == 0 || $1 != nil }) else {
      throw invalid("the bits of its colours are not adjacent")
    }
    return channels + [Channel(mask: alpha)]
  }

  private static func palette(
    _ bytes: UnsafeRawBufferPointer, _ info: Int, _ size: Int, _ bits: Int, end: Int
  ) -> [[UInt8]] {
    let entry = size == 12 ? 3 : 4
    let used = size >= 36 ? bytes.little(info + 32, 4) ?? 0 : 0
    let first = info + size
    let room = end > first ? (end - first) / entry : 256
    let count = min(used > 0 ? used : 1 << bits, 1 << bits, room)
    return (0..<count).compactMap { index in
      let at = first + index * entry
      guard let color = bytes.little(at, 3) else { return nil }
      return [UInt8(color >> 16), UInt8(color >> 8 & 255), UInt8(color & 255)]
    }
  }

  /// The embedded profile of a header of version 5.
  private static func profile(_ bytes: UnsafeRawBufferPointer, _ info: Int) -> [UInt8] {
    guard bytes.little(info + 56, 4) == 0x4D42_4544, let offset = bytes.little(info + 112, 4),
      let length = bytes.little(info + 116, 4), length > 128, length <= 4 << 20,
      info + offset + length <= bytes.count
    else { return [] }
    return Array(bytes[(info + offset)..<(info + offset + length)])
  }
}
