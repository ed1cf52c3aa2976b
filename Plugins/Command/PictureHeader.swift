import Glibc

/// What the first bytes of a picture say of its type and size.
struct PictureHeader: Equatable {
  enum Kind: String, CaseIterable, Decodable {
    case jpeg = "image/jpeg"
    case png = "image/png"
    case webp = "image/webp"
    case gif = "image/gif"
  }

  let kind: Kind
  /// Pixels as stored, before any orientation.
  let width: Int
  let height: Int

  /// Reads a file.
  ///
  /// - Parameter read: returns up to so many bytes at an offset, fewer at the end of the file.
  /// - Returns: `nil` if it is none of these pictures, or ends before its size.
  init?(_ read: (_ offset: Int, _ count: Int) -> [UInt8]) {
    let start = read(0, 32)
    func text(_ offset: Int, _ text: String) -> Bool {
      start.count >= offset + text.utf8.count
        && start[offset..<offset + text.utf8.count].elementsEqual(text.utf8)
    }
    func little(_ offset: Int, _ count: Int) -> Int {
      start[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    let size: (width: Int, height: Int)?
    if start.starts(with: [0xFF, 0xD8, 0xFF]) {
      kind = .jpeg
      size = Self.jpegSize(read)
    } else if start.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
      text(12, "IHDR"),
      start.count >= 24
    {
      kind = .png
      size = (Self.big(start[16..<20]), Self.big(start[20..<24]))
    } else if text(0, "GIF87a") || text(0, "GIF89a"), start.count >= 10 {
      kind = .gif
      size = (little(6, 2), little(8, 2))
    } else if text(0, "RIFF"), text(8, "WEBP"), start.count >= 30 {
      kind = .webp
      switch String(decoding: start[12..<16], as: UTF8.self) {
      case "VP8 ": size = (little(26, 2) & 0x3FFF, little(28, 2) & 0x3FFF)
      case "VP8L": size = (little(21, 4) & 0x3FFF + 1, little(21, 4) >> 14 & 0x3FFF + 1)
      case "VP8X": size = (little(24, 3) + 1, little(27, 3) + 1)
      default: size = nil
      }
    } else {
      return nil
    }
    guard let size, size.width > 0, size.height > 0 else { return nil }
    (width, height) = size
  }

  /// Opens a file for `init(_:)`, without following a link.
  init?(path: String) {
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    self.init { offset, count in
      var bytes = [UInt8](repeating: 0, count: count)
      let found = pread(file, &bytes, count, off_t(offset))
      return Array(bytes.prefix(max(0, found)))
    }
  }

  private static func big(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  /// More segments than a JPEG has before its size.
  private static let mostSegments = 10_000

  /// The size in the first frame header. Source: ITU-T T.81, B.2.2.
  private static func jpegSize(
    _ read: (_ offset: Int, _ count: Int) -> [UInt8]
  ) -> (width: Int, height: Int)? {
    var offset = 2
    for _ in 0..<mostSegments {
      let segment = read(offset, 9)
      guard segment.count >= 4, segment[0] == 0xFF else { return nil }
      switch segment[1] {
      case 0xFF:
        // A fill byte.
        offset += 1
      case 0xC4, 0xC8, 0xCC:
        offset += 2 + big(segment[2..<4])
      case 0xC0...0xCF:
        guard segment.count == 9 else { return nil }
        return (big(segment[7..<9]), big(segment[5..<7]))
      case 0xD9, 0xDA: return nil
      default:
        offset += 2 + big(segment[2..<4])
      }
    }
    return nil
  }
}
