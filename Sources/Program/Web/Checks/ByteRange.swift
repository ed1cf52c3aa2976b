/// A part of a file that a client asks for. Source: RFC 9110, section 14.
enum ByteRange: Hashable, Sendable {
  /// All of it: nothing else was asked for, or something that may be ignored.
  case whole
  case part(Range<Int>)
  /// Nothing of what was asked for is there.
  case unsatisfiable

  /// Reads the header `Range`.
  ///
  /// Several ranges are answered with the whole file, which a client must accept.
  ///
  /// - Parameter size: the size of the file in bytes.
  init(_ header: String?, size: Int) {
    self = .whole
    guard let header, header.utf8.count <= 256 else { return }
    let words = header.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard words.count == 2, words[0].lowercased() == "bytes" else { return }
    let ends = words[1].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2 else { return }
    guard !ends[0].isEmpty else {
      // The last bytes.
      guard let count = Self.number(ends[1]) else { return }
      self = count == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - count)..<size)
      return
    }
    guard let first = Self.number(ends[0]) else { return }
    var last = Int.max - 1
    if !ends[1].isEmpty {
      guard let number = Self.number(ends[1]), number >= first else { return }
      last = number
    }
    self = first >= size ? .unsatisfiable : .part(first..<min(size, last + 1))
  }

  private static func number(_ text: Substring) -> Int? {
    // `Int` would take a sign.
    guard !text.isEmpty, text.utf8.count <= 18, text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return Int(text)
  }
}
