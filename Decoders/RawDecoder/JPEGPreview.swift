import Containers

/// A JPEG inside a raw file, as its segments describe it.
///
/// Source: ITU-T T.81, annex B; EXIF 2.32, section 4.5.
struct JPEGPreview {
  private(set) var width = 0
  private(set) var height = 0
  /// The orientation in its own EXIF block; `nil` if there is none.
  private(set) var orientation: Int?
  private(set) var hasProfile = false
  /// Whether its own EXIF block says that the colours are Adobe RGB; `nil` if it says nothing.
  private(set) var isAdobeRGB: Bool?
  /// Where the image ends, after its last marker; `nil` if it does not end within the bytes.
  private(set) var end: Int?

  /// Reads the segments of bytes that may end before the JPEG does.
  ///
  /// Returns `nil` if there is no size, or if the coding is not one that libjpeg decodes: raw values
  /// are often lossless JPEG themselves.
  init?(_ bytes: [UInt8]) {
    let isReadable = bytes.withUnsafeBufferPointer { read($0) }
    guard isReadable, width > 0, height > 0 else { return nil }
  }

  /// - Returns: whether everything up to the end or to the first scan could be read.
  private mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard var segments = JPEGSegments(bytes) else { return false }
    var hasScan = false
    while let step = segments.next() {
      guard case .segment(let marker, let content) = step else {
        if case .end(let place) = step, hasScan { end = place }
        return hasScan
      }
      let body = UnsafeBufferPointer(rebasing: bytes[content])
      switch marker {
      case 0xC0, 0xC1, 0xC2:
        guard body.count >= 6, body[0] == 8, [1, 3].contains(body[5]) else { return false }
        (height, width) = (Int(body[1]) << 8 | Int(body[2]), Int(body[3]) << 8 | Int(body[4]))
      case 0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
        return false
      case 0xE1 where body.starts(with: "Exif\0\0".utf8): readExif(Array(body))
      case 0xE2 where body.starts(with: "ICC_PROFILE\0".utf8): hasProfile = true
      case JPEGSegments.startOfScan: hasScan = true
      default: break
      }
    }
    return hasScan
  }

  private mutating func readExif(_ bytes: [UInt8]) {
    guard let reader = TagReader(exif: bytes), let main = reader.directory(at: reader.first) else {
      return
    }
    orientation = reader.integer(0x0112, in: main).flatMap { (1...8).contains($0) ? $0 : nil }
    isAdobeRGB = EXIFColorSpace.isAdobeRGB(reader, main)
  }
}

/// What EXIF says about colours.
///
/// Source: EXIF 2.32, section 4.6.5 and annex C: Adobe RGB is marked as uncalibrated colours with
/// the interoperability index R03; many cameras write 2 as the colour space.
enum EXIFColorSpace {
  /// Returns `nil` if there is no colour space.
  static func isAdobeRGB(_ reader: TagReader, _ main: TagReader.Directory) -> Bool? {
    guard let exif = reader.integer(0x8769, in: main).flatMap(reader.directory) else { return nil }
    let interoperability = reader.integer(0xA005, in: exif).flatMap(reader.directory)
      .flatMap { reader.text(0x0001, in: $0) }
    if interoperability == "R03" { return true }
    return reader.integer(0xA001, in: exif).map { $0 == 2 }
  }
}
