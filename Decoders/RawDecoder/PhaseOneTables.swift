import Containers

/// The tables of Phase One and Leaf files, which LibRaw 0.20 trusts too much.
///
/// `LibRaw::parse_phase_one` repeats a loop as often as a second table's count says, and the end of
/// the file counts as four billion: a file that is cut keeps it busy for minutes, and it can't be
/// cancelled then.
enum PhaseOneTables {
  /// LibRaw's own limit for the first table.
  private static let limit = 8192

  /// Whether LibRaw would not come back from a file.
  static func areEndless(in file: RawFile) -> Bool {
    let head = file.read(at: 0, count: 32)
    // LibRaw looks for these within 32 bytes, in this order.
    guard let base = position(of: "MMMM", in: head) ?? position(of: "IIII", in: head) else {
      return false
    }
    let bytes = ByteReader(size: file.size, limit: 1 << 20) { file.read(at: $0, count: $1) }
    let isLittle = head[base] == 0x49
    func number(_ offset: Int) -> Int? { bytes.number(at: offset, 4, littleEndian: isLittle) }
    guard let mark = number(base + 4), mark >> 8 == 0x526177, let offset = number(base + 8),
      let count = number(base + offset), count <= limit
    else { return false }
    var meta = 0
    for index in 0..<count {
      let entry = base + offset + 8 + index * 16
      guard let tag = number(entry), let data = number(entry + 12) else { break }
      // With the body's serial number, the second table is not read.
      if tag == 0x0102, let first = bytes.number(at: base + data, 1), first != 0 { return false }
      if tag == 0x0110 { meta = base + data }
    }
    let isMetaLittle = bytes.code(at: meta, 2) == "II"
    guard let table = bytes.number(at: meta + 8, 4, littleEndian: isMetaLittle),
      let entries = bytes.number(at: meta + table, 4, littleEndian: isMetaLittle)
    else { return true }
    return entries > limit
  }

  private static func position(of mark: String, in head: [UInt8]) -> Int? {
    let mark = Array(mark.utf8)
    return (0..<max(head.count - 3, 0)).first { head[$0..<($0 + 4)].elementsEqual(mark) }
  }
}
