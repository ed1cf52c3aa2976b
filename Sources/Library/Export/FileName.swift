import PipelineModel

/// A file's name, split into the parts that a layout and a number need.
struct FileName {
  /// Everything before the extension's dot.
  let stem: [UInt8]
  /// The extension without its dot; empty if there is none.
  let suffix: [UInt8]

  /// The longest name of common file systems. Source: `NAME_MAX` in limits.h(0p).
  static let mostBytes = 255

  /// - Parameter suffix: another extension than that of the name.
  init(_ name: BytePath, suffix: String? = nil) {
    let dot = name.bytes.lastIndex(of: UInt8(ascii: "."))
    if let dot, dot > 0 {
      stem = Array(name.bytes[..<dot])
      self.suffix = suffix.map { Array($0.utf8) } ?? Array(name.bytes[(dot + 1)...])
    } else {
      stem = name.bytes
      self.suffix = Array((suffix ?? "").utf8)
    }
  }

  var bytes: [UInt8] { joined(to: stem) }

  /// The name, or with a number before its extension: `a.jpg`, `a-2.jpg`, `a-3.jpg`.
  ///
  /// - Parameter number: 1 for the name itself.
  func numbered(_ number: Int) -> BytePath {
    let end = number == 1 ? [] : Array("-\(number)".utf8)
    let room = max(1, Self.mostBytes - end.count - (suffix.isEmpty ? 0 : suffix.count + 1))
    return BytePath(bytes: joined(to: stem.firstCharacters(ofAtMost: room) + end))
  }

  private func joined(to stem: [UInt8]) -> [UInt8] {
    suffix.isEmpty ? stem : stem + [UInt8(ascii: ".")] + suffix
  }
}

extension BytePath {
  /// This part of a path, changed where it would lead elsewhere or is too long for a file name.
  var asFileName: BytePath {
    if self == "." || self == ".." { return BytePath(bytes: Array("_".utf8) + bytes.dropFirst()) }
    if bytes.count <= FileName.mostBytes { return self }
    let name = FileName(self)
    // What follows the last dot of a sentence is no extension.
    return name.suffix.count <= 16
      ? name.numbered(1) : BytePath(bytes: bytes.firstCharacters(ofAtMost: FileName.mostBytes))
  }
}

extension [UInt8] {
  /// The longest beginning of at most so many bytes that does not cut a character of UTF-8.
  fileprivate func firstCharacters(ofAtMost most: Int) -> [UInt8] {
    guard count > most else { return self }
    var end = most
    while end > 0, self[end] & 0xC0 == 0x80 { end -= 1 }
    return Array(self[..<(end > 0 ? end : most)])
  }
}
