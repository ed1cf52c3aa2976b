import PictureDecoding

/// The picture of an icon or cursor file that is shown: the largest one with the most bits.
///
/// Source: Microsoft's description of icons in Win32 resources: a header of six bytes, then sixteen
/// for each picture, whose data are a PNG or a bitmap without its file header.
struct IconEntry {
  /// How many pictures the file has.
  let count: Int
  let width: Int
  let height: Int
  let bits: Int
  /// A file with this picture only, so that MagickCore does not read the others.
  let file: [UInt8]
  /// What is missing in the file; `nil` if nothing is.
  let damage: String?

  private struct Candidate {
    var at: Int
    var width: Int
    var height: Int
    var bits: Int
    var data: Range<Int>
  }

  /// What an entry of the table stands for.
  private enum Entry {
    case picture(Candidate)
    /// Its data, or itself, are not all in the file.
    case beyondEnd
    case damaged
    /// A bitmap with OS/2's header of twelve bytes, which MagickCore does not read in icons.
    case foreign
  }

  /// - Throws: `DecoderError` of code `undecodable` if there is no whole picture.
  init(_ bytes: UnsafeRawBufferPointer) throws(DecoderError) {
    guard bytes.little(0, 2) == 0, [1, 2].contains(bytes.little(2, 2)),
      let count = bytes.little(4, 2), count > 0
    else { throw DecoderError(.undecodable, "The icon has no table of pictures") }
    var candidates: [Candidate] = []
    var (isCut, isDamaged) = (false, false)
    for index in 0..<count {
      switch Self.entry(bytes, at: 6 + index * 16) {
      case .picture(let candidate): candidates.append(candidate)
      case .beyondEnd: isCut = true
      case .damaged: isDamaged = true
      case .foreign: break
      }
    }
    guard
      let best = candidates.max(by: {
        ($0.width * $0.height, $0.bits) < ($1.width * $1.height, $1.bits)
      })
    else {
      throw DecoderError(
        .undecodable,
        isCut
          ? "The icon ends before its first picture"
          : isDamaged
            ? "The icon's pictures are damaged"
            : "The icon's pictures are of a kind that is not decoded")
    }
    self.count = count
    (width, height, bits) = (best.width, best.height, best.bits)
    damage =
      isCut
      ? "the file ends too early: pictures are missing"
      : isDamaged ? "pictures in it are damaged" : nil
    func byte(_ size: Int) -> UInt8 { size < 256 ? UInt8(size) : 0 }
    func number(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
    file =
      [0, 0, 1, 0, 1, 0, byte(width), byte(height), bytes[best.at + 2], 0]
      + number(1, 2) + number(bits, 2) + number(best.data.count, 4) + number(22, 4)
      + bytes[best.data]
  }

  private static func entry(_ bytes: UnsafeRawBufferPointer, at: Int) -> Entry {
    guard let length = bytes.little(at + 8, 4), let offset = bytes.little(at + 12, 4),
      offset + length <= bytes.count
    else { return .beyondEnd }
    if length >= 12, bytes.little(offset, 4) == 12 { return .foreign }
    guard length > 28 else { return .damaged }
    let data = offset..<(offset + length)
    // The data know better than the table, whose sizes are bytes, and hot spots in cursors.
    if bytes.big(offset, 4) == 0x8950_4E47 {
      guard let width = bytes.big(offset + 16, 4), let height = bytes.big(offset + 20, 4),
        (1...65535).contains(width), (1...65535).contains(height)
      else { return .damaged }
      return .picture(Candidate(at: at, width: width, height: height, bits: 32, data: data))
    }
    guard let size = bytes.little(offset, 4), size >= 40, let width = bytes.little(offset + 4, 4),
      let both = bytes.little(offset + 8, 4), let bits = bytes.little(offset + 14, 2),
      (1...65535).contains(width), (2...131_070).contains(both)
    else { return .damaged }
    // The height is that of the colours and the mask together.
    return .picture(Candidate(at: at, width: width, height: both / 2, bits: bits, data: data))
  }
}
