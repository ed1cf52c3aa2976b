/// What an EXIF block says that matters here.
package struct ExifBlock: Hashable, Sendable {
  /// 1 to 8 as EXIF has it, or `nil` where it is absent or nonsense.
  package var orientation: Int?
  /// `2024:05:06 07:08:09`, as written.
  package var dateTimeOriginal: String?
  /// Digits behind the second, as written.
  package var subSecond: String?
  /// The zone, such as `+02:00`, as written.
  package var offset: String?
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

  /// Reads a block as it stands in a picture.
  package init?(_ bytes: [UInt8]) {
    guard let reader = TagReader(exif: bytes) else { return nil }
    self.init(reader)
  }

  /// Reads the first directory and what hangs on it.
  package init?(_ reader: TagReader) {
    guard let main = reader.directory(at: reader.first) else { return nil }
    orientation = reader.integer(0x0112, in: main).flatMap { (1...8).contains($0) ? $0 : nil }
    make = reader.text(0x010F, in: main)
    guard let pointer = reader.integer(0x8769, in: main),
      let exif = reader.directory(at: pointer)
    else { return }
    dateTimeOriginal = reader.text(0x9003, in: exif)
    subSecond = reader.text(0x9291, in: exif)
    offset = reader.text(0x9011, in: exif)
    width = reader.integer(0xA002, in: exif)
    height = reader.integer(0xA003, in: exif)
    colorSpace = reader.integer(0xA001, in: exif)
    if let pointer = reader.integer(0xA005, in: exif), let further = reader.directory(at: pointer) {
      interoperability = reader.text(0x0001, in: further)
    }
  }
}
