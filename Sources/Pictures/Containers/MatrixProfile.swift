private import Glibc

/// An ICC profile of three primary colours and one curve, for spaces that files name without a
/// profile.
///
/// Source: ICC.1:2001-04 (version 2), sections 6.1 to 6.5.
package struct MatrixProfile {
  /// Adobe RGB (1998). Source of the curve: its specification, section 4.3.4.2.
  package static let adobeRGB = MatrixProfile(
    name: "Adobe RGB (compatible)",
    red: [0.60976, 0.31112, 0.01948], green: [0.20524, 0.62566, 0.06089],
    blue: [0.14922, 0.06322, 0.74484], curve: [563])

  /// sRGB. Source of the curve: IEC 61966-2-1, section 5.2.
  package static let srgb = MatrixProfile(
    name: "sRGB (compatible)",
    red: [0.43607, 0.22250, 0.01393], green: [0.38506, 0.71688, 0.09710],
    blue: [0.14308, 0.06062, 0.71417],
    curve: (0..<1024).map { index in
      let value = Double(index) / 1023
      let linear = value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
      return UInt16((linear * 65535).rounded())
    })

  /// The profile as it stands in files.
  package let bytes: [UInt8]

  /// - Parameters:
  ///   - red: the colour's XYZ, adapted to D50.
  ///   - curve: one gamma in steps of 1/256, or values for equal steps of the input.
  private init(name: String, red: [Double], green: [Double], blue: [Double], curve: [UInt16]) {
    let tags: [(signature: String, data: [UInt8])] = [
      ("desc", Self.description(name)),
      ("cprt", Self.typed("text", Array("No rights reserved\0".utf8))),
      ("wtpt", Self.color([0.9642, 1, 0.8249])),
      ("rXYZ", Self.color(red)), ("gXYZ", Self.color(green)), ("bXYZ", Self.color(blue)),
      (
        "rTRC",
        Self.typed("curv", Self.bytes(curve.count, 4) + curve.flatMap { Self.bytes(Int($0), 2) })
      ),
    ]
    // The three curves are one.
    let entries = tags.map(\.signature) + ["gTRC", "bTRC"]
    var table: [UInt8] = Self.bytes(entries.count, 4)
    var data: [UInt8] = []
    let start = 128 + 4 + entries.count * 12
    var last: [UInt8] = []
    for (index, signature) in entries.enumerated() {
      if index < tags.count {
        let tag = tags[index].data
        last = Self.bytes(start + data.count, 4) + Self.bytes(tag.count, 4)
        data += tag + [UInt8](repeating: 0, count: (4 - tag.count % 4) % 4)
      }
      table += Array(signature.utf8) + last
    }
    var header: [UInt8] = Self.bytes(start + data.count, 4)
    header += [0, 0, 0, 0, 2, 0x40, 0, 0]
    header += Array("mntrRGB XYZ ".utf8)
    // The date is fixed, so that equal pictures stay equal bytes.
    header += [2000, 1, 1, 0, 0, 0].flatMap { Self.bytes($0, 2) }
    header += Array("acsp".utf8) + [UInt8](repeating: 0, count: 28)
    header += [0.9642, 1, 0.8249].flatMap { Self.fixed($0) }
    header += [UInt8](repeating: 0, count: 128 - header.count)
    bytes = header + table + data
  }

  private static func typed(_ type: String, _ content: [UInt8]) -> [UInt8] {
    Array(type.utf8) + [0, 0, 0, 0] + content
  }

  private static func color(_ values: [Double]) -> [UInt8] {
    typed("XYZ ", values.flatMap { fixed($0) })
  }

  /// The text in ASCII; its Unicode and Macintosh forms are empty.
  private static func description(_ text: String) -> [UInt8] {
    let ascii = Array(text.utf8) + [0]
    return typed("desc", bytes(ascii.count, 4) + ascii + [UInt8](repeating: 0, count: 78))
  }

  private static func fixed(_ value: Double) -> [UInt8] {
    bytes(Int((value * 65536).rounded()), 4)
  }

  private static func bytes(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }
}
