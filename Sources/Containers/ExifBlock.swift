/// The EXIF values that plugins use.
package struct ExifBlock: Hashable, Sendable {
  /// The EXIF orientation, 1 to 8; `nil` if absent or invalid.
  package var orientation: Int?
  /// When the picture was taken, with fraction and zone: `2024:05:06 07:08:09`.
  package var original: Moment?
  /// When the picture was digitized.
  package var digitized: Moment?
  /// The GPS time, in UTC.
  package var satellites: String?
  /// The width recorded by the camera, in pixels.
  package var width: Int?
  /// The height recorded by the camera, in pixels.
  package var height: Int?
  /// 1 for sRGB, 2 for Adobe RGB, 65535 for others.
  package var colorSpace: Int?
  /// `R98` for sRGB, `R03` for Adobe RGB.
  package var interoperability: String?
  /// The camera maker.
  package var make: String?

  /// A time in three EXIF tags.
  package struct Moment: Hashable, Sendable {
    /// `2024:05:06 07:08:09`, as written.
    package var text: String
    /// The digits of the fractional second, as written.
    package var fraction: String?
    /// The zone, such as `+02:00`, as written.
    package var offset: String?
  }

  /// Reads a block as embedded in a picture.
  package init?(_ bytes: [UInt8]) {
    guard let reader = TagReader(exif: bytes) else { return nil }
    self.init(reader)
  }

  /// Reads the first directory and those it points to.
  package init?(_ reader: TagReader) {
    guard let directories = ExifDirectories(reader) else { return nil }
    self.init(directories)
  }

  /// Reads directories.
  package init(_ directories: ExifDirectories) {
    if let (reader, main) = directories.image {
      orientation = reader.integer(0x0112, in: main).flatMap { (1...8).contains($0) ? $0 : nil }
      make = reader.text(0x010F, in: main)
      // TIFF/EP files have these tags here.
      original = reader.text(0x9003, in: main).map { Moment(text: $0) }
      digitized = reader.text(0x9004, in: main).map { Moment(text: $0) }
    }
    if let (reader, exif) = directories.photo {
      func moment(_ tag: UInt16, fraction: UInt16, offset: UInt16) -> Moment? {
        reader.text(tag, in: exif).map {
          Moment(
            text: $0, fraction: reader.text(fraction, in: exif),
            offset: reader.text(offset, in: exif))
        }
      }
      original = moment(0x9003, fraction: 0x9291, offset: 0x9011) ?? original
      digitized = moment(0x9004, fraction: 0x9292, offset: 0x9012) ?? digitized
      width = reader.integer(0xA002, in: exif)
      height = reader.integer(0xA003, in: exif)
      colorSpace = reader.integer(0xA001, in: exif)
    }
    if let (reader, gps) = directories.gps, let date = reader.text(0x001D, in: gps) {
      let clock = reader.fractions(0x0007, in: gps).compactMap { $0 }
      if clock.count == 3, clock.allSatisfy({ (0..<61).contains($0) }) {
        let parts = clock.map { ($0 < 10 ? "0" : "") + "\(Int($0))" }
        satellites = "\(date) \(parts.joined(separator: ":"))Z"
      }
    }
    interoperability = directories.interoperability.flatMap { reader, further in
      reader.text(0x0001, in: further)
    }
  }
}
