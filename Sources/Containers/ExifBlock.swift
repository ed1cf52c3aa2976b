/// What EXIF says that matters here.
package struct ExifBlock: Hashable, Sendable {
  /// 1 to 8 as EXIF has it, or `nil` where it is absent or nonsense.
  package var orientation: Int?
  /// When the picture was taken: `2024:05:06 07:08:09`, with digits behind the second and the zone.
  package var original: Moment?
  /// When the picture became digital.
  package var digitized: Moment?
  /// The satellites' time, which is UTC.
  package var satellites: String?
  /// The width that the camera says the picture has.
  package var width: Int?
  /// The height that the camera says the picture has.
  package var height: Int?
  /// 1 for sRGB, 2 for Adobe RGB, 65535 for neither.
  package var colorSpace: Int?
  /// `R98` for sRGB, `R03` for Adobe RGB.
  package var interoperability: String?
  /// The maker of the camera.
  package var make: String?

  /// A moment as EXIF writes it, in three tags.
  package struct Moment: Hashable, Sendable {
    /// `2024:05:06 07:08:09`, as written.
    package var text: String
    /// Digits behind the second, as written.
    package var fraction: String?
    /// The zone, such as `+02:00`, as written.
    package var offset: String?
  }

  /// Reads a block as it stands in a picture.
  package init?(_ bytes: [UInt8]) {
    guard let reader = TagReader(exif: bytes) else { return nil }
    self.init(reader)
  }

  /// Reads the first directory and what hangs on it.
  package init?(_ reader: TagReader) {
    guard let directories = ExifDirectories(reader) else { return nil }
    self.init(directories)
  }

  /// Reads directories.
  package init(_ directories: ExifDirectories) {
    if let (reader, main) = directories.image {
      orientation = reader.integer(0x0112, in: main).flatMap { (1...8).contains($0) ? $0 : nil }
      make = reader.text(0x010F, in: main)
      // Files by TIFF/EP have them here.
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
