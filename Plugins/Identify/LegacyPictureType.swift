/// Types of old kinds of pictures that libmagic 5.44 does not know, or calls by another kind's name.
///
/// It knows neither DDS, SGI nor Sun raster, calls XBM and some XPM plain text and some icons TGA; of
/// TGA, which has no magic number, it misses some.
enum LegacyPictureType {
  /// Returns the media type, or `nil` if it is none of these.
  ///
  /// - Parameters:
  ///   - head: the beginning of the file.
  ///   - tail: the last 26 bytes, in which newer TGA files have their mark.
  ///   - size: of the file, in bytes.
  static func find(head: [UInt8], tail: [UInt8], size: Int) -> String? {
    if let found = signatures.first(where: { head.starts(with: $0.bytes) }) { return found.type }
    if isIcon(head, size: size) { return "image/vnd.microsoft.icon" }
    if isSiliconGraphics(head) { return "image/x-sgi" }
    if isXBitmap(head) { return "image/x-xbitmap" }
    if isXPixmap(head) { return "image/x-xpixmap" }
    if isPCX(head) { return "image/x-pcx" }
    return isTarga(head, tail: tail, size: size) ? "image/x-tga" : nil
  }

  private static let signatures: [(bytes: [UInt8], type: String)] = [
    (Array("DDS |\0\0\0".utf8), "image/x-dds"),
    ([0x59, 0xA6, 0x6A, 0x95], "image/x-sun-raster"),
  ]

  private static func little(_ head: [UInt8], _ offset: Int, _ count: Int) -> Int {
    guard offset + count <= head.count else { return 0 }
    return head[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// An icon or cursor whose first picture lies behind the table and within the file.
  private static func isIcon(_ head: [UInt8], size: Int) -> Bool {
    guard head.count >= 22, little(head, 0, 2) == 0, [1, 2].contains(head[2]), head[3] == 0,
      head[9] == 0
    else { return false }
    let count = little(head, 4, 2)
    let (length, offset) = (little(head, 14, 4), little(head, 18, 4))
    return (1...1024).contains(count) && offset >= 6 + count * 16 && length > 28
      && offset + length <= size
  }

  /// Source: The SGI image file format, version 1.0.
  private static func isSiliconGraphics(_ head: [UInt8]) -> Bool {
    head.count >= 512 && head[0] == 0x01 && head[1] == 0xDA && head[2] <= 1
      && [1, 2].contains(head[3]) && head[4] == 0 && [1, 2, 3].contains(head[5])
  }

  /// C source that defines a width, then a height and an array.
  private static func isXBitmap(_ head: [UInt8]) -> Bool {
    guard head.starts(with: "#define ".utf8) else { return false }
    let text = String(decoding: head.prefix(512), as: UTF8.self)
    return text.contains("_width ") && text.contains("_height ") && text.contains("_bits[]")
  }

  /// C source that begins with a certain comment and defines an array of texts, also one declared as
  /// `static char *x = {`.
  private static func isXPixmap(_ head: [UInt8]) -> Bool {
    guard head.starts(with: "/* XPM */".utf8) || head.starts(with: "/*XPM*/".utf8) else {
      return false
    }
    return String(decoding: head.prefix(4096), as: UTF8.self).contains("char")
  }

  /// Source: ZSoft PCX file format technical reference manual.
  private static func isPCX(_ head: [UInt8]) -> Bool {
    head.count >= 128 && head[0] == 10 && [0, 2, 3, 4, 5].contains(head[1]) && head[2] == 1
      && [1, 2, 4, 8].contains(head[3]) && head[64] == 0 && (1...4).contains(head[65])
      && little(head, 4, 2) <= little(head, 8, 2) && little(head, 6, 2) <= little(head, 10, 2)
  }

  /// A header in which everything is plausible, and either the mark at the end or as many bytes as
  /// uncompressed pixels need.
  ///
  /// Source: Truevision TGA file format specification, version 2.0.
  private static func isTarga(_ head: [UInt8], tail: [UInt8], size: Int) -> Bool {
    guard head.count >= 18, head[1] <= 1, head[17] & 0xC0 == 0 else { return false }
    let (type, bits) = (Int(head[2]), Int(head[16]))
    let (width, height) = (little(head, 12, 2), little(head, 14, 2))
    let bitsOfType = [1: [8, 16], 2: [15, 16, 24, 32], 3: [8, 16]][type & 7] ?? []
    guard type & ~11 == 0, bitsOfType.contains(bits), width > 0, height > 0 else { return false }
    let colors = little(head, 5, 2)
    if head[1] == 0 {
      guard type & 7 != 1, head[3..<8].allSatisfy({ $0 == 0 }) else { return false }
    } else {
      guard colors > 0, [15, 16, 24, 32].contains(head[7]) else { return false }
    }
    if tail.suffix(18).elementsEqual("TRUEVISION-XFILE.\0".utf8) { return true }
    let map = head[1] == 1 ? colors * ((Int(head[7]) + 7) / 8) : 0
    let pixels = 18 + Int(head[0]) + map + width * height * ((bits + 7) / 8)
    // Some programs append a few bytes.
    return type & 8 == 0 && size >= pixels && size - pixels <= 4096
  }
}
