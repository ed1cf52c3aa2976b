/// The header of a PBM, PGM or PPM file.
///
/// Source: netpbm's pages pbm(5), pgm(5) and ppm(5).
package struct PixmapHeader {
  /// The digit behind the `P`, as a number: 1 to 6.
  private let kind: Int
  /// In pixels; `nil` if there is no number, as for the next one.
  package let width: Int?
  package let height: Int?
  /// The value of white; 1 for bitmaps.
  package let most: Int?

  package var isPlain: Bool { kind <= 3 }
  package var isBitmap: Bool { kind % 3 == 1 }
  package var bands: Int { kind % 3 == 0 ? 3 : 1 }

  /// Reads a header; `nil` if it is of another kind.
  ///
  /// - Parameter reader: is then at the first byte of the values, behind a single white space.
  package init?(_ reader: inout PixmapReader) throws(VipsError) {
    guard try reader.next() == UInt8(ascii: "P"), let digit = try reader.next(),
      (0x31...0x36).contains(digit)
    else { return nil }
    kind = Int(digit) - 0x30
    width = try reader.number()
    height = try reader.number()
    most = kind % 3 == 1 ? 1 : try reader.number()
  }

  /// What libvips' values have to be multiplied with, because it takes those for white that are greatest
  /// in 8 or 16 bits; `nil` if that is so.
  var scale: Double? {
    guard !isBitmap, let most, (1..<65535).contains(most), most != 255 else { return nil }
    return (most > 255 ? 65535 : 255) / Double(most)
  }

  /// The most bytes of a file that is rewritten.
  private static let mostRewritten = 64 << 20

  /// Returns the file without comments in its header, of which libvips 8.14 skips only one; `nil` if it has
  /// no more, or is too large.
  static func withoutComments(_ file: PictureFile) throws(VipsError) -> [UInt8]? {
    var reader = PixmapReader(file)
    guard file.size <= mostRewritten, let header = try PixmapHeader(&reader), reader.comments > 1,
      let width = header.width, let height = header.height, let most = header.most
    else { return nil }
    let last = header.isBitmap ? "" : "\(most)\n"
    return try Array("P\(header.kind)\n\(width) \(height)\n\(last)".utf8)
      + file.read(at: reader.offset, count: file.size)
  }
}

/// Reads the bytes and decimal numbers of a file in order.
package struct PixmapReader {
  private let file: PictureFile
  private var bytes: [UInt8] = []
  private var at = 0
  private var start = 0
  /// How many comments were skipped.
  package private(set) var comments = 0

  package init(_ file: PictureFile) { self.file = file }

  /// Where the next byte is.
  package var offset: Int { start + at }

  /// Returns the next byte, or `nil` at the end.
  package mutating func next() throws(VipsError) -> UInt8? {
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
        comments += 1
        while let inside = try next(), inside != 10 && inside != 13 {}
      } else if byte > 32 {
        return byte
      }
    }
    return nil
  }

  /// Whether another bit follows; bits may touch.
  package mutating func digit() throws(VipsError) -> Bool { try nextOfText() != nil }

  /// Reads a number and the byte behind it; `nil` if there is none.
  package mutating func number() throws(VipsError) -> Int? {
    guard let first = try nextOfText(), (0x30...0x39).contains(first) else { return nil }
    var value = Int(first - 0x30)
    while let byte = try next(), (0x30...0x39).contains(byte), value < 1 << 32 {
      value = value * 10 + Int(byte - 0x30)
    }
    return value
  }
}
