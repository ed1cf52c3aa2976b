/// A reader of bytes by offset, from a file or memory.
///
/// Reads through a small window and bounds the total, so that no file makes a
/// walk through it long.
package final class ByteReader {
  /// The total number of bytes.
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
  /// Decodes bytes in ISO 8859-1.
  init(latin1 bytes: some Sequence<UInt8>) {
    self = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
