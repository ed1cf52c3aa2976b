import CLibAV

/// Whether a file ends before its container does.
enum FileEnd {
  /// Compares the file's length with what the container says of itself.
  ///
  /// Known for QuickTime and MP4 (positions of samples), Matroska (the segment's size) and AVI
  /// (the size of RIFF); other containers are made to be cut anywhere.
  static func isCut(_ input: MediaInput, _ stream: VideoStream) -> Bool {
    switch input.formatName {
    case "mov,mp4,m4a,3gp,3g2,mj2": endsWithin(stream.stream, input.size)
    case "matroska,webm":
      segmentEnd(input.bytes(at: 0, count: 256)).map { $0 > input.size } ?? false
    case "avi": riffEnd(input.bytes(at: 0, count: 8)).map { $0 > input.size } ?? false
    default: false
    }
  }

  /// Whether a sample lies beyond the end; the last ones are looked at.
  private static func endsWithin(_ stream: UnsafeMutablePointer<AVStream>, _ size: Int64) -> Bool {
    let count = avformat_index_get_entries_count(stream)
    return (max(0, count - 16)..<max(0, count)).contains { index in
      guard let entry = avformat_index_get_entry(stream, index)?.pointee else { return false }
      return entry.pos > size - Int64(entry.size)
    }
  }

  /// The size of the first chunk; source: AVI RIFF File Reference.
  private static func riffEnd(_ head: [UInt8]) -> Int64? {
    guard head.count == 8 else { return nil }
    let size = head[4..<8].reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
    // Programs that write to a pipe leave all bits set, or none.
    return size == 0xFFFF_FFFF || size == 0 ? nil : size + 8
  }

  /// The end of Matroska's segment; `nil` if it is unknown. Source: RFC 8794 and RFC 9559.
  private static func segmentEnd(_ head: [UInt8]) -> Int64? {
    guard head.starts(with: [0x1A, 0x45, 0xDF, 0xA3]), let header = number(head, at: 4),
      header.value < 200
    else { return nil }
    let segment = 4 + header.length + Int(header.value)
    guard head.dropFirst(segment).starts(with: [0x18, 0x53, 0x80, 0x67]),
      let size = number(head, at: segment + 4), !size.isUnknown
    else { return nil }
    return Int64(segment + 4 + size.length) + size.value
  }

  /// An EBML number of variable length; all bits set mean unknown.
  private static func number(
    _ bytes: [UInt8], at offset: Int
  ) -> (value: Int64, length: Int, isUnknown: Bool)? {
    guard offset < bytes.count else { return nil }
    let length = bytes[offset].leadingZeroBitCount + 1
    guard length <= 8, offset + length <= bytes.count else { return nil }
    let mask = Int64(1) << (7 * length) - 1
    let value = bytes[offset..<(offset + length)].reduce(Int64(0)) { $0 << 8 | Int64($1) } & mask
    return (value, length, value == mask)
  }
}
