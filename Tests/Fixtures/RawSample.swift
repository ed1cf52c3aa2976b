/// A DNG of one uncompressed Bayer picture, whose quarters have colours that can be told apart.
package struct RawSample {
  package var width = 320
  package var height = 240
  package var orientation = 1
  /// JPEGs in subdirectories.
  package var previews: [[UInt8]] = []
  /// One more subdirectory.
  package var thumbnail: TIFFTags?
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
    var tags = TIFFTags()
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
    var exif = TIFFTags()
    exif.fraction(0x829A, [0.004], isSigned: false)
    exif.fraction(0x829D, [5.6], isSigned: false)
    exif.short(0x8827, [400])
    exif.text(0x9003, "2021:03:04 05:06:07")
    exif.fraction(0x920A, [35], isSigned: false)
    exif.short(0xA001, [interoperability == "R03" ? 65535 : 1])
    var index = TIFFTags()
    index.text(0x0001, interoperability)

    var out = Array("II*\0".utf8) + TIFFTags.number(8, 4)
    // Sizes don't depend on the offsets, so that they can be known before.
    var at =
      8
      + tags.with(0x014A, [Int](repeating: 0, count: previews.count + (thumbnail == nil ? 0 : 1)))
      .with(0x8769, [0]).with(0x0111, [0]).bytes(at: 0).count
    let exifAt = at
    at += exif.with(0xA005, [0]).bytes(at: 0).count
    let indexAt = at
    at += index.bytes(at: 0).count
    var directories: [Int] = []
    var parts: [UInt8] = []
    if let thumbnail {
      directories.append(at)
      parts += thumbnail.bytes(at: at)
      at += parts.count
    }
    for preview in previews {
      var sub = TIFFTags()
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
        values += TIFFTags.number(color[channel] * 40000 + 4000, 2)
      }
    }
    return values
  }
}
