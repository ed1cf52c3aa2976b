/// Text whose first bytes determine its encoding.
///
/// Source: XML 1.0, appendix F; XMP part 1, section 7.3.
package enum EncodedText {
  /// Decodes text in UTF-8, UTF-16 or UTF-32 that begins with ASCII or a byte order mark.
  package static func decode(_ bytes: [UInt8]) -> String {
    let head = Array(bytes.prefix(4)) + [UInt8](repeating: 1, count: max(0, 4 - bytes.count))
    let (width, isLittle): (Int, Bool)
    switch (head[0], head[1], head[2], head[3]) {
    case (0xFF, 0xFE, 0, 0): (width, isLittle) = (4, true)
    case (0, 0, 0xFE, 0xFF): (width, isLittle) = (4, false)
    case (0xFF, 0xFE, _, _): (width, isLittle) = (2, true)
    case (0xFE, 0xFF, _, _): (width, isLittle) = (2, false)
    case (1..., 0, 0, 0): (width, isLittle) = (4, true)
    case (0, 0, 0, 1...): (width, isLittle) = (4, false)
    case (1..., 0, 1..., 0): (width, isLittle) = (2, true)
    case (0, 1..., 0, 1...): (width, isLittle) = (2, false)
    default:
      let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
      return String(decoding: bytes.dropFirst(mark), as: UTF8.self)
    }
    let units = stride(from: 0, to: bytes.count - width + 1, by: width).lazy.map {
      bytes[$0..<($0 + width)].number(littleEndian: isLittle)
    }
    let text =
      width == 2
      ? String(decoding: units.map { UInt16($0) }, as: UTF16.self)
      : String(decoding: units.map { UInt32($0) }, as: UTF32.self)
    return text.hasPrefix("\u{FEFF}") ? String(text.unicodeScalars.dropFirst()) : text
  }
}
