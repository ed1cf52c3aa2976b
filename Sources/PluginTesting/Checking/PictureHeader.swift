/// The header of a picture in one of the formats of renditions.
struct PictureHeader {
  /// The media type; `nil` if it is unknown.
  var type: String?
  /// The stored size in pixels; `nil` if the header does not simply contain it.
  var size: (width: Int, height: Int)?

  /// Parses the beginning of a file.
  init(_ bytes: [UInt8]) {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      type = "image/png"
      if bytes.count >= 24 { size = (Self.big(bytes[16..<20]), Self.big(bytes[20..<24])) }
    } else if bytes.starts(with: Array("GIF8".utf8)) {
      type = "image/gif"
      if bytes.count >= 10 { size = (Self.little(bytes[6..<8]), Self.little(bytes[8..<10])) }
    } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
      type = "image/jpeg"
      size = Self.sizeOfJPEG(bytes)
    } else if bytes.count >= 12, bytes.starts(with: Array("RIFF".utf8)),
      bytes[8..<12].elementsEqual(Array("WEBP".utf8))
    {
      type = "image/webp"
    }
  }

  /// The size in the first frame header. Source: ITU-T T.81, B.2.2.
  private static func sizeOfJPEG(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
    var place = 2
    while place + 9 <= bytes.count, bytes[place] == 0xFF {
      let marker = bytes[place + 1]
      // C0 to CF are frame headers except for these three, which are tables and an extension.
      if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
        return (big(bytes[place + 7..<place + 9]), big(bytes[place + 5..<place + 7]))
      }
      place += 2 + big(bytes[place + 2..<place + 4])
    }
    return nil
  }

  private static func big(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  private static func little(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
