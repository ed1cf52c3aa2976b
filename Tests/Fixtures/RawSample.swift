/// A DNG of one uncompressed Bayer picture, whose quarters have colours that can be told apart.
package struct RawSample {
  package var width = 320
  package var height = 240
  package var orientation = 1
  /// JPEGs in subdirectories.
  package var previews: [[UInt8]] = []
  /// The index of interoperability; `R03` means Adobe RGB.
  package var interoperability = "R98"

  package init(
    orientation: Int = 1, previews: [[UInt8]] = [], interoperability: String = "R98"
  ) {
    (self.orientation, self.previews) = (orientation, previews)
    self.interoperability = interoperability
  }

  /// The colours of the quarters: red, green, blue, white.
  package static let quarters: [[Int]] = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]

  /// The file; the sensor's values come last.
  package var bytes: [UInt8] {
    var tags = Tags()
    tags.text(0x010F, "Testing")
    tags.text(0x0110, "Camera One")
    tags.long(0x0100, [width])
    tags.long(0x0101, [height])
    tags.short(0x0102, [16])
    tags.short(0x0103, [1])
    tags.short(0x0106, [32803])
    tags.short(0x0112, [orientation])
    tags.short(0x0115, [1])
    tags.long(0x0116, [height])
    tags.long(0x0117, [width * height * 2])
    tags.short(0x828D, [2, 2])
    tags.byte(0x828E, [0, 1, 1, 2])
    tags.byte(0xC612, [1, 4, 0, 0])
    tags.text(0xC614, "Testing Camera One")
    tags.long(0xC61D, [65535])
    // XYZ to the camera's colours: those of sRGB.
    tags.fraction(
      0xC621,
      [3.2406, -1.5372, -0.4986, -0.9689, 1.8758, 0.0415, 0.0557, -0.2040, 1.0570])
    tags.fraction(0xC628, [1, 1, 1], isSigned: false)
    var exif = Tags()
    exif.fraction(0x829A, [0.004], isSigned: false)
    exif.fraction(0x829D, [5.6], isSigned: false)
    exif.short(0x8827, [400])
    exif.text(0x9003, "2021:03:04 05:06:07")
    exif.fraction(0x920A, [35], isSigned: false)
    exif.short(0xA001, [interoperability == "R03" ? 65535 : 1])
    var index = Tags()
    index.text(0x0001, interoperability)

    var out = Array("II*\0".utf8) + Tags.number(8, 4)
    // Sizes don't depend on the offsets, so that they can be known before.
    var at =
      8
      + tags.with(0x014A, [Int](repeating: 0, count: previews.count))
      .with(0x8769, [0]).with(0x0111, [0]).bytes(at: 0).count
    let exifAt = at
    at += exif.with(0xA005, [0]).bytes(at: 0).count
    let indexAt = at
    at += index.bytes(at: 0).count
    var directories: [Int] = []
    var parts: [UInt8] = []
    for preview in previews {
      var sub = Tags()
      sub.long(0x00FE, [1])
      sub.short(0x0103, [7])
      sub.long(0x0111, [0])
      sub.long(0x0117, [preview.count])
      let length = sub.bytes(at: 0).count
      sub.long(0x0111, [at + length])
      directories.append(at)
      parts += sub.bytes(at: at) + preview
      if parts.count % 2 == 1 { parts.append(0) }
      at = indexAt + index.bytes(at: 0).count + parts.count
    }
    out += tags.with(0x014A, directories).with(0x8769, [exifAt]).with(0x0111, [at]).bytes(at: 8)
    out += exif.with(0xA005, [indexAt]).bytes(at: exifAt)
    out += index.bytes(at: indexAt)
    return out + parts + sensor
  }

  private var sensor: [UInt8] {
    var values: [UInt8] = []
    values.reserveCapacity(width * height * 2)
    for y in 0..<height {
      for x in 0..<width {
        let color = Self.quarters[(y < height / 2 ? 0 : 2) + (x < width / 2 ? 0 : 1)]
        let channel = y % 2 == 0 ? x % 2 : 1 + x % 2
        values += Tags.number(color[channel] * 40000 + 4000, 2)
      }
    }
    return values
  }
}

/// A TIFF directory in the making.
private struct Tags {
  private var entries: [Int: (type: Int, count: Int, data: [UInt8])] = [:]

  static func number(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  mutating func byte(_ tag: Int, _ values: [Int]) {
    entries[tag] = (1, values.count, values.map { UInt8($0) })
  }

  mutating func text(_ tag: Int, _ text: String) {
    entries[tag] = (2, text.utf8.count + 1, Array(text.utf8) + [0])
  }

  mutating func short(_ tag: Int, _ values: [Int]) {
    entries[tag] = (3, values.count, values.flatMap { Self.number($0, 2) })
  }

  mutating func long(_ tag: Int, _ values: [Int]) {
    guard !values.isEmpty else { return }
    entries[tag] = (4, values.count, values.flatMap { Self.number($0, 4) })
  }

  mutating func fraction(_ tag: Int, _ values: [Double], isSigned: Bool = true) {
    entries[tag] = (
      isSigned ? 10 : 5, values.count,
      values.flatMap { Self.number(Int(($0 * 10000).rounded()), 4) + Self.number(10000, 4) }
    )
  }

  func with(_ tag: Int, _ values: [Int]) -> Tags {
    var copy = self
    copy.long(tag, values)
    return copy
  }

  /// The directory at an offset, followed by the values that don't fit into it.
  func bytes(at offset: Int) -> [UInt8] {
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
