import PictureDecoding

/// A TGA file.
///
/// Read here because MagickCore 6.9.11 loses the alpha of grey pictures, and says nothing of missing
/// pixels. Source: Truevision TGA file format specification, version 2.0.
struct TargaFile {
  enum Content { case indexed, color, grey }

  let content: Content
  let isCompressed: Bool
  let width: Int
  let height: Int
  /// Bits of a pixel.
  let bits: Int
  let hasAlpha: Bool
  private let isTopDown: Bool
  private let isRightToLeft: Bool
  /// Where the colour map begins, its first index, and its number of colours and bits of each.
  private let map: (start: Int, first: Int, count: Int, bits: Int)
  private let start: Int

  /// Grey (1 band), RGB (3) or RGB and alpha (4).
  var bands: Int { hasAlpha ? 4 : content == .grey ? 1 : 3 }
  /// The bytes of a pixel.
  private var size: Int { (bits + 7) / 8 }

  /// Reads the header; types without a magic number can only be plausible.
  ///
  /// - Throws: `DecoderError`; `undecodable` if it is no TGA, `tooLarge` beyond the limit of pixels.
  init(_ bytes: UnsafeRawBufferPointer) throws(DecoderError) {
    guard let identifier = bytes.little(0, 1), let mapType = bytes.little(1, 1),
      let type = bytes.little(2, 1), let first = bytes.little(3, 2), let count = bytes.little(5, 2),
      let mapBits = bytes.little(7, 1), let width = bytes.little(12, 2),
      let height = bytes.little(14, 2), let bits = bytes.little(16, 1),
      let descriptor = bytes.little(17, 1)
    else { throw Self.invalid("it ends in its header") }
    guard width > 0, height > 0, mapType <= 1 else { throw Self.invalid("its header is damaged") }
    let hasMap = mapType == 1
    switch (type & 7, bits) {
    case (1, 8), (1, 16): content = .indexed
    case (2, 15), (2, 16), (2, 24), (2, 32): content = .color
    case (3, 8), (3, 16): content = .grey
    // Written by Pillow.
    case (3, 1) where type == 3: content = .grey
    default: throw Self.invalid("its type \(type) with \(bits) bits a pixel is unknown")
    }
    guard type & ~8 == type & 7, content != .indexed || hasMap,
      !hasMap || [15, 16, 24, 32].contains(mapBits)
    else { throw Self.invalid("its header is damaged") }
    isCompressed = type & 8 != 0
    (self.width, self.height, self.bits) = (width, height, bits)
    try BitmapFile.checkPixels(width, height, isCompressed: isCompressed)
    // One bit of alpha in sixteen is rarely meant.
    let alphaBits = descriptor & 15
    hasAlpha =
      alphaBits > 0
      && (bits == 32 || (content == .grey && bits == 16) || (content == .indexed && mapBits == 32))
    isTopDown = descriptor & 0x20 != 0
    isRightToLeft = descriptor & 0x10 != 0
    map = (18 + identifier, first, hasMap ? count : 0, mapBits)
    start = map.start + (hasMap ? count * ((mapBits + 7) / 8) : 0)
  }

  private static func invalid(_ reason: String) -> DecoderError {
    DecoderError(.undecodable, "The TGA can't be decoded: \(reason)")
  }

  /// Decodes the pixels, with the first one at the upper left.
  ///
  /// - Throws: `DecoderError` of code `undecodable` if most of the pixels are missing.
  func decode(
    _ bytes: UnsafeRawBufferPointer, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedPicture {
    let data = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(start))
    // Keeps a small file from asking for much memory: a run is of 128 pixels at most.
    let least = isCompressed ? width * height / 256 : width * height * size / 8
    guard !data.isEmpty, data.count >= least else {
      throw Self.invalid("it ends before most of its pixels")
    }
    let colors = (0..<map.count).map { index -> Color in
      let length = (map.bits + 7) / 8
      return bytes.little(map.start + index * length, length)
        .map { Self.color($0, bits: map.bits) } ?? Self.black
    }
    let bands = bands
    var pixels = [UInt8](repeating: 0, count: width * height * bands)
    let isWhole = pixels.withUnsafeMutableBufferPointer { out in
      bits == 1 ? fillBits(out, data, isCancelled) : fill(out, data, colors, isCancelled)
    }
    if isCancelled() { throw DecoderError(.cancelled, "The job was cancelled") }
    if bands == 4, stride(from: 3, to: pixels.count, by: 4).allSatisfy({ pixels[$0] == 0 }) {
      // Some programs name an alpha channel and leave it empty.
      for at in stride(from: 3, to: pixels.count, by: 4) { pixels[at] = 255 }
    }
    var picture = DecodedPicture(.pixels(pixels, width: width, height: height, bands: bands))
    if !isWhole { picture.damage = "the file ends too early" }
    return picture
  }

  /// Returns whether all pixels are there.
  private func fill(
    _ out: UnsafeMutableBufferPointer<UInt8>, _ data: UnsafeRawBufferPointer,
    _ colors: [Color], _ isCancelled: () -> Bool
  ) -> Bool {
    let size = size
    var at = 0
    var left = 0  // in the packet
    var isRun = false
    for line in 0..<height {
      if line % 64 == 0, isCancelled() { return true }
      let row = isTopDown ? line : height - 1 - line
      for column in 0..<width {
        if isCompressed, left == 0 {
          guard at < data.count else { return false }
          isRun = data[at] & 0x80 != 0
          left = Int(data[at] & 0x7F) + 1
          at += 1
        }
        guard at + size <= data.count else { return false }
        var value = Int(data[at])
        for byte in 1..<max(size, 2) where byte < size {
          value |= Int(data[at + byte]) << (byte * 8)
        }
        put(value, colors, out, row, isRightToLeft ? width - 1 - column : column)
        if isCompressed { left -= 1 }
        // A run's value stands once, behind its length.
        if !isCompressed || !isRun || left == 0 { at += size }
      }
    }
    return true
  }

  /// Decodes pixels of one bit, the leftmost in the upper one; ones are white. Rows begin with a byte.
  ///
  /// Returns whether all pixels are there.
  private func fillBits(
    _ out: UnsafeMutableBufferPointer<UInt8>, _ data: UnsafeRawBufferPointer,
    _ isCancelled: () -> Bool
  ) -> Bool {
    for line in 0..<height {
      if line % 64 == 0, isCancelled() { return true }
      let start = (isTopDown ? line : height - 1 - line) * width
      for column in 0..<width {
        let at = line * ((width + 7) / 8) + column / 8
        guard at < data.count else { return false }
        let isWhite = data[at] << (column % 8) & 0x80 != 0
        out[start + (isRightToLeft ? width - 1 - column : column)] = isWhite ? 255 : 0
      }
    }
    return true
  }

  private func put(
    _ value: Int, _ colors: [Color], _ out: UnsafeMutableBufferPointer<UInt8>, _ row: Int,
    _ column: Int
  ) {
    let at = (row * width + column) * bands
    switch content {
    case .grey:
      let grey = UInt8(value & 255)
      out[at] = grey
      guard hasAlpha else { return }
      (out[at + 1], out[at + 2], out[at + 3]) = (grey, grey, UInt8(value >> 8))
    case .indexed, .color:
      let color: Color
      if content == .color {
        color = Self.color(value, bits: bits)
      } else {
        let index = value - map.first
        color = colors.indices.contains(index) ? colors[index] : Self.black
      }
      (out[at], out[at + 1], out[at + 2]) = (color.red, color.green, color.blue)
      if hasAlpha { out[at + 3] = color.alpha }
    }
  }

  private typealias Color = (red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8)

  /// What values beyond the map stand for.
  private static let black: Color = (0, 0, 0, 255)

  /// The colour of a value, without memory of its own: there is one for each pixel.
  private static func color(_ value: Int, bits: Int) -> Color {
    if bits >= 24 {
      let alpha = bits == 32 ? UInt8(value >> 24 & 255) : 255
      return (UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255), alpha)
    }
    func five(_ value: Int) -> UInt8 { UInt8(((value & 31) * 255 + 15) / 31) }
    return (five(value >> 10), five(value >> 5), five(value), 255)
  }
}
