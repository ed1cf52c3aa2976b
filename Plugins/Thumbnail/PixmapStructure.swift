import Vips

/// The header of a PBM, PGM or PPM file, and how many values must follow it.
///
/// libvips takes bits, and numbers in decimal, for zeros where a file ends too early.
/// Source: netpbm's pages pbm(5), pgm(5) and ppm(5).
enum PixmapStructure {
  /// What is wrong with a file, as a clause; `nil` if nothing is.
  ///
  /// libvips also takes words for the number 1, and too large numbers for others.
  ///
  /// - Parameters:
  ///   - width: what libvips took for its width.
  ///   - height: what libvips took for its height.
  static func problem(
    _ file: PictureFile, width: Int, height: Int
  ) throws(VipsError) -> String? {
    var reader = PixmapReader(file)
    guard try reader.next() == UInt8(ascii: "P"), let kind = try reader.next(),
      (0x31...0x36).contains(kind)
    else { return nil }
    guard try reader.number() == width, try reader.number() == height else {
      return "its header has no valid width and height"
    }
    return try isCutShort(file, &reader, kind, width, height) ? "it ends too early" : nil
  }

  /// Whether the file ends before its last value.
  private static func isCutShort(
    _ file: PictureFile, _ reader: inout PixmapReader, _ kind: UInt8, _ width: Int, _ height: Int
  ) throws(VipsError) -> Bool {
    let isPlain = kind <= 0x33
    let isBitmap = kind == 0x31 || kind == 0x34
    guard let most = isBitmap ? 1 : try reader.number() else { return true }
    let samples = width * (kind % 3 == 0 ? 3 : 1)
    if isPlain {
      for _ in 0..<(samples * height) {
        guard try isBitmap ? reader.digit() : reader.number() != nil else { return true }
      }
      return false
    }
    // A single white space ends the header, which was read with the last number.
    let row = isBitmap ? (width + 7) / 8 : most > 255 ? samples * 2 : samples
    return file.size - reader.offset < row * height
  }
}

/// Reads the bytes and decimal numbers of a file in order.
private struct PixmapReader {
  private let file: PictureFile
  private var bytes: [UInt8] = []
  private var at = 0
  private var start = 0

  init(_ file: PictureFile) { self.file = file }

  /// Where the next byte is.
  var offset: Int { start + at }

  /// Returns the next byte, or `nil` at the end.
  mutating func next() throws(VipsError) -> UInt8? {
    if at == bytes.count {
      start += at
      (bytes, at) = (try file.read(at: start, count: 1 << 16), 0)
      if bytes.isEmpty { return nil }
    }
    at += 1
    return bytes[at - 1]
  }

  /// Returns the next byte that is neither white space nor in a comment, or `nil` at the end.
  private mutating func nextOfText() throws(VipsError) -> UInt8? {
    while let byte = try next() {
      if byte == UInt8(ascii: "#") {
        while let inside = try next(), inside != 10 && inside != 13 {}
      } else if byte > 32 {
        return byte
      }
    }
    return nil
  }

  /// Whether another bit follows; bits may touch.
  mutating func digit() throws(VipsError) -> Bool { try nextOfText() != nil }

  /// Reads a number and the byte behind it; `nil` if there is none.
  mutating func number() throws(VipsError) -> Int? {
    guard let first = try nextOfText(), (0x30...0x39).contains(first) else { return nil }
    var value = Int(first - 0x30)
    while let byte = try next(), (0x30...0x39).contains(byte), value < 1 << 32 {
      value = value * 10 + Int(byte - 0x30)
    }
    return value
  }
}
