import Fixtures
import PipelineModel
import Vips

/// Small files that become very large when they are decoded.
enum Bomb {
  /// Sides of the large pictures: 64 megapixels.
  static let side = 8000

  /// An interlaced PNG of black pixels, which has to be kept whole while it is decoded.
  static let interlacedPNG: [UInt8] = {
    // Bytes of the seven passes: a filter in front of each row. Source: PNG, section 8.2.
    let passes = [
      (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
      (0, 1, 1, 2),
    ]
    let count = passes.reduce(0) { sum, pass in
      let columns = (side - pass.0 + pass.2 - 1) / pass.2
      let rows = (side - pass.1 + pass.3 - 1) / pass.3
      return sum + rows * (1 + columns * 3)
    }
    return png(side, interlaced: true, [("IDAT", zeros(count))])
  }()

  /// A progressive JPEG, whose coefficients have to be kept.
  static func progressiveJPEG() throws -> [UInt8] {
    let picture = try Pictures.plain([90, 120, 150], width: 8, height: 8)
      .resized(width: side, height: side, kernel: .linear)
    return try Pictures.file(picture, ".jpg[Q=40,strip,interlace]")
  }

  /// A GIF of very many frames of one pixel.
  static func gif(frames: Int) -> [UInt8] {
    let head =
      Array("GIF89a".utf8) + little(500, 2) + little(500, 2) + [0x80, 0, 0] + [0, 0, 0, 9, 9, 9]
    // A frame of one pixel: its place and size, then the codes clear, 0, end in three bits each.
    let frame: [UInt8] =
      [0x21, 0xF9, 4, 4, 1, 0, 0, 0] + [0x2C] + little(0, 4) + little(1, 2) + little(1, 2)
      + [0, 2, 2, 0x44, 0x01, 0]
    var bytes = head
    bytes.reserveCapacity(frames * frame.count + 100)
    for _ in 0..<frames { bytes += frame }
    return bytes + [0x3B]
  }

  /// An animated WebP of one frame of one pixel on a canvas of 1 GB, which libwebp asks for before it
  /// reads a frame. Source: WebP Container Specification; WebP Lossless Bitstream Specification.
  static let webP: [UInt8] = {
    func chunk(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
      Array(name.utf8) + little(bytes.count, 4) + bytes
    }
    let canvas: [UInt8] = [2, 0, 0, 0] + little(16_000 - 1, 3) + little(16_000 - 1, 3)
    // One pixel, and five codes of one symbol each.
    let pixel: [UInt8] = [0x2F, 0, 0, 0, 0, 0x88, 0x88, 0x08]
    let frame = little(0, 6) + little(0, 6) + little(100, 3) + [0] + chunk("VP8L", pixel)
    let chunks = chunk("VP8X", canvas) + chunk("ANIM", little(0, 6)) + chunk("ANMF", frame)
    return chunk("RIFF", Array("WEBP".utf8) + chunks)
  }()

  /// A small PNG with a profile that is 100 MB large when it is unpacked.
  static let profilePNG: [UInt8] = png(
    16, interlaced: false,
    [("iCCP", Array("bomb\0\0".utf8) + zeros(100_000_000)), ("IDAT", zeros(16 * (1 + 16 * 3)))])

  private static func png(
    _ side: Int, interlaced: Bool, _ chunks: [(String, [UInt8])]
  ) -> [UInt8] {
    let header = big(side, 4) + big(side, 4) + [8, 2, 0, 0, interlaced ? 1 : 0]
    let all = [("IHDR", header)] + chunks + [("IEND", [])]
    return all.reduce(into: [0x89] + Array("PNG\r\n".utf8) + [0x1A, 0x0A]) { bytes, chunk in
      let content = Array(chunk.0.utf8) + chunk.1
      bytes += big(chunk.1.count, 4) + content + big(Int(checksum(content)), 4)
    }
  }

  /// Zeros as zlib packs them: one, then copies of 258 of the last byte.
  ///
  /// Sources: RFC 1950, section 2.2; RFC 1951, section 3.2.6.
  private static func zeros(_ count: Int) -> [UInt8] {
    var bits = BitWriter()
    // The last block, with the fixed codes.
    bits.write([true, true, false])
    let literal: [Bool] = [false, false, true, true, false, false, false, false]
    // Length 258 is code 285, and distance 1 code 0.
    let copy: [Bool] =
      [true, true, false, false, false, true, false, true] + Array(repeating: false, count: 5)
    bits.write(literal)
    for _ in 0..<((count - 1) / 258) { bits.write(copy) }
    for _ in 0..<((count - 1) % 258) { bits.write(literal) }
    bits.write(Array(repeating: false, count: 7))
    // Adler-32 of zeros: the first sum stays 1, the second counts.
    return [0x78, 0xDA] + bits.bytes + big((count % 65521) << 16 | 1, 4)
  }

  private struct BitWriter {
    private(set) var bytes: [UInt8] = []
    private var free = 0

    /// Appends bits, the first one at the lowest free place.
    mutating func write(_ bits: [Bool]) {
      for bit in bits {
        if free == 0 {
          bytes.append(0)
          free = 8
        }
        if bit { bytes[bytes.count - 1] |= 1 << UInt8(8 - free) }
        free -= 1
      }
    }
  }

  /// CRC-32. Source: PNG, annex D.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { table[Int(($0 ^ UInt32($1)) & 0xFF)] ^ ($0 >> 8) }
  }

  private static let table: [UInt32] = (0..<256).map { number in
    (0..<8).reduce(UInt32(number)) { value, _ in
      value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1
    }
  }
}
