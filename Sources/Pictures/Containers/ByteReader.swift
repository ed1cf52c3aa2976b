/// A reader of bytes by offset, from a file or memory.
///
/// Reads through a small window and bounds the total, so that no file makes a
/// walk through it long.
package final class ByteReader {
  package let size: Int
  private let fetch: (_ offset: Int, _ count: Int) -> [UInt8]
  private var allowance: Int
  private var window: [UInt8] = []
  private var windowStart = 0

  private static let windowLength = 4096

  /// Creates a reader.
  ///
  /// - Parameters:
  ///   - size: the total number of bytes.
  ///   - limit: the number of bytes that may be fetched; reads beyond it fail.
  ///   - fetch: returns up to `count` bytes at `offset`.
  package init(
    size: Int, limit: Int = 64 << 20, fetch: @escaping (_ offset: Int, _ count: Int) -> [UInt8]
  ) {
    self.size = size
    self.fetch = fetch
    allowance = limit
  }

  /// Creates a reader of bytes in memory.
  package convenience init(_ bytes: [UInt8]) {
    self.init(size: bytes.count) { Array(bytes[$0..<min($0 + $1, bytes.count)]) }
  }

  /// Reads all bytes of a range, or returns `nil` if any is missing.
  package func bytes(_ range: Range<Int>) -> [UInt8]? {
    guard range.lowerBound >= 0, range.upperBound <= size else { return nil }
    if range.isEmpty { return [] }
    if range.count > Self.windowLength {
      return fetchWithinAllowance(range.lowerBound, range.count)
    }
    if range.lowerBound < windowStart || range.upperBound > windowStart + window.count {
      let count = min(Self.windowLength, size - range.lowerBound)
      guard let bytes = fetchWithinAllowance(range.lowerBound, count) else { return nil }
      (window, windowStart) = (bytes, range.lowerBound)
    }
    let start = range.lowerBound - windowStart
    return Array(window[start..<(start + range.count)])
  }

  /// Reads an unsigned integer of 1 to 7 bytes.
  package func number(at offset: Int, _ count: Int, littleEndian: Bool = false) -> Int? {
    guard offset >= 0, offset <= size else { return nil }
    return bytes(offset..<(offset + count))?.number(littleEndian: littleEndian)
  }

  /// Reads bytes as ISO 8859-1 text, such as a four-character code.
  package func code(at offset: Int, _ count: Int = 4) -> String? {
    guard offset >= 0, offset <= size else { return nil }
    return bytes(offset..<(offset + count)).map { String(latin1: $0) }
  }

  private func fetchWithinAllowance(_ offset: Int, _ count: Int) -> [UInt8]? {
    guard count <= allowance else { return nil }
    allowance -= count
    let bytes = fetch(offset, count)
    return bytes.count == count ? bytes : nil
  }
}

extension Collection where Element == UInt8 {
  /// The unsigned integer in these bytes, at most 7.
  func number(littleEndian: Bool = false) -> Int {
    let add: (Int, UInt8) -> Int = { $0 << 8 | Int($1) }
    return littleEndian ? reversed().reduce(0, add) : reduce(0, add)
  }
}

extension String {
  init(latin1 bytes: some Sequence<UInt8>) {
    self = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}

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
