import Containers

/// The boxes of a CR3, which LibRaw 0.20 trusts too much.
///
/// `LibRaw::parseCR3` goes on by a length of 64 bits without looking at it: by one of 0 it never
/// gets anywhere, and in a box that is said to be larger than the file it looks for boxes far behind
/// the end. It can't be cancelled then.
enum CanonBoxes {
  /// A camera's file has fewer than 200.
  private static let mostBoxes = 10_000
  private static let mostLevels = 32
  /// Boxes that LibRaw looks into, and how many bytes it skips before the first box in them.
  ///
  /// Source: LibRaw's `cr3_parser.cpp`.
  private static let containers: [String: Int] = [
    "dinf": 0, "edts": 0, "fiin": 0, "ipro": 0, "iprp": 0, "mdia": 0, "meco": 0, "mere": 0,
    "mfra": 0, "minf": 0, "moof": 0, "moov": 0, "mvex": 0, "paen": 0, "schi": 0, "sinf": 0,
    "skip": 0, "stbl": 0, "stsd": 8, "strk": 0, "tapt": 0, "traf": 0, "trak": 0, "CCTP": 12,
    "CRAW": 82, "uuid": 16,
  ]

  /// Whether LibRaw would not come back from a file.
  static func areEndless(in file: RawFile) -> Bool {
    let reader = ByteReader(size: file.size) { file.read(at: $0, count: $1) }
    guard reader.code(at: 4, 8) == "ftypcrx " else { return false }
    var boxes = 0
    return isEndless(reader, 0..<file.size, level: 0, &boxes)
  }

  private static func isEndless(
    _ reader: ByteReader, _ range: Range<Int>, level: Int, _ boxes: inout Int
  ) -> Bool {
    guard level < mostLevels else { return false }
    var at = range.lowerBound
    while at + 8 <= range.upperBound {
      boxes += 1
      guard boxes <= mostBoxes else { return true }
      // Behind the end LibRaw sees a length of four billion.
      guard var length = reader.number(at: at, 4), let name = reader.code(at: at + 4) else {
        return false
      }
      var content = at + 8
      if length == 1 {
        guard content + 8 <= range.upperBound else { return false }
        // Of a true length the first byte is 0. Only that of the pixels may lead behind the end,
        // if the file is cut.
        guard reader.number(at: content, 1) == 0, let long = reader.number(at: content + 1, 7)
        else { return true }
        length = long
        content += 8
        if length < 16 || length > reader.size && name != "mdat" { return true }
      } else if length < 8 {
        // 0 is the rest of the file; LibRaw finds nothing in the others.
        if length == 0 { return false }
        at += length
        continue
      }
      if let skipped = containers[name] {
        let end = min(at + length, reader.size)
        if content + skipped < end,
          isEndless(reader, (content + skipped)..<end, level: level + 1, &boxes)
        {
          return true
        }
      }
      at += length
    }
    return false
  }
}
