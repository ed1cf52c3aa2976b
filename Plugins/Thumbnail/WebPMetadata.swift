/// Metadata in a WebP file.
///
/// Source: WebP Container Specification, “Extended File Format”.
enum WebPMetadata {
  private static let exifFlag: UInt8 = 0x08
  private static let xmpFlag: UInt8 = 0x04

  /// Removes EXIF and XMP, which libvips 8.14 writes even when asked to strip.
  static func remove(from webp: [UInt8]) -> [UInt8] {
    guard webp.count >= 12, webp.starts(with: Array("RIFF".utf8)) else { return webp }
    var result = Array(webp[..<12])
    var at = 12
    while at + 8 <= webp.count {
      let size = webp[(at + 4)..<(at + 8)].reversed().reduce(0) { $0 << 8 | Int($1) }
      // Chunks are padded to an even length.
      let end = min(at + 8 + size + size % 2, webp.count)
      let name = String(decoding: webp[at..<(at + 4)], as: UTF8.self)
      if name != "EXIF" && name != "XMP " {
        let start = result.count
        result += webp[at..<end]
        if name == "VP8X", result.count > start + 8 {
          result[start + 8] &= ~(exifFlag | xmpFlag)
        }
      }
      at = end
    }
    let length = UInt32(result.count - 8)
    for index in 0..<4 { result[4 + index] = UInt8(truncatingIfNeeded: length >> (8 * index)) }
    return result
  }
}
