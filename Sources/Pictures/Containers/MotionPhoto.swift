/// The film that follows a picture in the same file, as telephones write it.
///
/// Whatever says where it is, is believed only if a film is there.
package struct MotionPhoto: Hashable, Sendable {
  /// Where the film is in the file, in bytes.
  package let range: Range<Int>
  /// `video/mp4` or `video/quicktime`, by its content.
  package let mediaType: String

  /// Finds the film in a JPEG, HEIC or AVIF file; returns `nil` if there is none.
  ///
  /// - Parameter xmp: the file's packet.
  package init?(_ reader: ByteReader, xmp: [UInt8]?) {
    let packet = xmp.map { XMPPacket($0) }
    let isDenied = packet?.properties["GCamera:MotionPhoto"].map { $0 != "1" } ?? false
    var candidates: [Range<Int>?] = []
    if reader.code(at: 4) == "ftyp" {
      candidates.append(
        isDenied ? nil : reader.boxes().first { $0.type == "mpvd" }?.content)
    } else if reader.number(at: 0, 3) == 0xFFD8FF {
      if let packet, !isDenied {
        candidates.append(Self.listed(packet, size: reader.size))
        candidates.append(Self.microVideo(packet, size: reader.size))
      }
      candidates.append(Self.samsung(reader))
    }
    for case let candidate? in candidates {
      if let found = Self.film(in: candidate, reader) {
        (range, mediaType) = found
        return
      }
    }
    return nil
  }

  /// The film in a range, without what may follow it.
  private static func film(
    in range: Range<Int>, _ reader: ByteReader
  ) -> (Range<Int>, String)? {
    guard range.lowerBound > 0, range.upperBound <= reader.size else { return nil }
    let boxes = reader.boxes(in: range)
    guard let first = boxes.first, first.type == "ftyp", let last = boxes.last,
      boxes.contains(where: { $0.type == "moov" })
    else { return nil }
    let brand = reader.code(at: first.content.lowerBound)
    return (
      range.lowerBound..<last.content.upperBound, brand == "qt  " ? "video/quicktime" : "video/mp4"
    )
  }

  /// The film in a list of the file's parts, which lie one behind the other up to the file's end.
  ///
  /// Source: Google, Motion Photo format 1.0.
  private static func listed(_ packet: XMPPacket, size: Int) -> Range<Int>? {
    var end = size
    for item in packet.items.reversed() {
      guard let length = Int(item["Length"] ?? "0"), let padding = Int(item["Padding"] ?? "0"),
        length >= 0, padding >= 0, length <= end, padding <= end - length
      else { return nil }
      if item["Semantic"] == "MotionPhoto" { return (end - length)..<end }
      end -= length + padding
    }
    return nil
  }

  /// The film that the first version of that format tells by its distance from the file's end.
  private static func microVideo(_ packet: XMPPacket, size: Int) -> Range<Int>? {
    guard packet.properties["GCamera:MicroVideo"] == "1",
      let length = packet.properties["GCamera:MicroVideoOffset"].flatMap({ Int($0) }),
      length > 0, length < size
    else { return nil }
    return (size - length)..<size
  }

  /// The film in the blocks that Samsung's telephones append to a JPEG.
  ///
  /// The last eight bytes are the length of a directory and `SEFT`; an entry of the directory has a
  /// type, how far before the directory its block begins, and the block's length. A block begins
  /// with its type and its name. Source: ExifTool's `Samsung.pm`.
  private static func samsung(_ reader: ByteReader) -> Range<Int>? {
    func number(_ offset: Int, _ count: Int) -> Int? {
      reader.number(at: offset, count, littleEndian: true)
    }
    guard reader.code(at: reader.size - 4) == "SEFT", let length = number(reader.size - 8, 4)
    else { return nil }
    let directory = reader.size - 8 - length
    guard reader.code(at: directory) == "SEFH", let count = number(directory + 8, 4) else {
      return nil
    }
    for index in 0..<min(count, 100) {
      let entry = directory + 12 + 12 * index
      guard let type = number(entry + 2, 2), let distance = number(entry + 4, 4),
        let length = number(entry + 8, 4)
      else { return nil }
      guard type == 0x0A30, length <= distance, let name = number(directory - distance + 4, 4),
        8 + name <= length
      else { continue }
      return (directory - distance + 8 + name)..<(directory - distance + length)
    }
    return nil
  }
}
