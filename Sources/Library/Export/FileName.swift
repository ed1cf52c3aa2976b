import PipelineModel

/// A file's name, split into the parts that a layout and a number need.
struct FileName {
  /// Everything before the extension's dot.
  let stem: [UInt8]
  /// The extension without its dot; `nil` if there is none. It may be empty, as in `a.`.
  let suffix: [UInt8]?

  /// The longest name of common file systems. Source: `NAME_MAX` in limits.h(0p).
  static let mostBytes = 255
  /// What follows the last dot of a sentence is no extension.
  private static let mostSuffixBytes = 32

  /// - Parameter suffix: another extension than that of the name.
  init(_ name: BytePath, suffix: String? = nil) {
    let replacement = suffix.map { Array($0.utf8) }
    if let dot = name.bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0,
      name.bytes.count - dot - 1 <= Self.mostSuffixBytes
    {
      stem = Array(name.bytes[..<dot])
      self.suffix = replacement ?? Array(name.bytes[(dot + 1)...])
    } else {
      stem = name.bytes
      self.suffix = replacement
    }
  }

  var bytes: [UInt8] { joined(to: stem) }

  /// The name, or with a number before its extension: `a.jpg`, `a-2.jpg`, `a-3.jpg`.
  ///
  /// - Parameter number: 1 for the name itself.
  func numbered(_ number: Int) -> BytePath {
    let end = number == 1 ? [] : Array("-\(number)".utf8)
    let room = Self.mostBytes - end.count - (suffix.map { $0.count + 1 } ?? 0)
    return BytePath(bytes: joined(to: stem.firstCharacters(ofAtMost: room) + end))
  }

  /// Whether another name is this one, with or without a number.
  func isNumbered(as other: BytePath) -> Bool {
    if numbered(1) == other { return true }
    let digits = FileName(other).stem.reversed().prefix {
      UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
    }
    guard let number = Int(String(decoding: digits.reversed(), as: UTF8.self)) else { return false }
    return numbered(number) == other
  }

  private func joined(to stem: [UInt8]) -> [UInt8] {
    suffix.map { stem + [UInt8(ascii: ".")] + $0 } ?? stem
  }
}

extension BytePath {
  /// This part of a path, changed where it would lead elsewhere or is too long for a file name.
  var asFileName: BytePath {
    self == ".." ? "_." : FileName(self).numbered(1)
  }
}

extension [UInt8] {
  /// The longest beginning of at most so many bytes that does not cut a character of UTF-8.
  func firstCharacters(ofAtMost most: Int) -> [UInt8] {
    guard count > most else { return self }
    var end = most
    while end > 0, self[end] & 0xC0 == 0x80 { end -= 1 }
    return Array(self[..<(end > 0 ? end : most)])
  }
}
