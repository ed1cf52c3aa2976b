/// A directory of a little-endian TIFF file in the making.
package struct TIFFTags {
  private var entries: [Int: (type: Int, count: Int, data: [UInt8])] = [:]

  package init() {}

  package static func number(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  package mutating func byte(_ tag: Int, _ values: [Int]) {
    entries[tag] = (1, values.count, values.map { UInt8($0) })
  }

  package mutating func text(_ tag: Int, _ text: String) {
    entries[tag] = (2, text.utf8.count + 1, Array(text.utf8) + [0])
  }

  package mutating func short(_ tag: Int, _ values: [Int]) {
    entries[tag] = (3, values.count, values.flatMap { Self.number($0, 2) })
  }

  package mutating func long(_ tag: Int, _ values: [Int]) {
    guard !values.isEmpty else { return }
    entries[tag] = (4, values.count, values.flatMap { Self.number($0, 4) })
  }

  package mutating func fraction(_ tag: Int, _ values: [Double], isSigned: Bool = true) {
    entries[tag] = (
      isSigned ? 10 : 5, values.count,
      values.flatMap { Self.number(Int(($0 * 10000).rounded()), 4) + Self.number(10000, 4) }
    )
  }

  package func with(_ tag: Int, _ values: [Int]) -> TIFFTags {
    var copy = self
    copy.long(tag, values)
    return copy
  }

  /// The directory at an offset, followed by the values that don't fit into it.
  package func bytes(at offset: Int) -> [UInt8] {
    var out = Self.number(entries.count, 2)
    var rest: [UInt8] = []
    let end = offset + 2 + entries.count * 12 + 4
    for (tag, entry) in entries.sorted(by: { $0.key < $1.key }) {
      out += Self.number(tag, 2) + Self.number(entry.type, 2) + Self.number(entry.count, 4)
      if entry.data.count <= 4 {
        out += entry.data + [UInt8](repeating: 0, count: 4 - entry.data.count)
      } else {
        out += Self.number(end + rest.count, 4)
        rest += entry.data + [UInt8](repeating: 0, count: entry.data.count % 2)
      }
    }
    return out + [0, 0, 0, 0] + rest
  }
}
