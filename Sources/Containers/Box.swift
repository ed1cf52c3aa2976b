/// A box of an ISO base media file, or a QuickTime atom, which has the same layout.
///
/// Source: ISO/IEC 14496-12, section 4.2.
struct Box {
  /// The four-character code, in ISO 8859-1.
  var type: String
  /// The range of its content, without the header.
  var content: Range<Int>
}

extension ByteReader {
  /// The boxes in a range, in order, up to the first invalid one.
  ///
  /// Reads only headers, so it finds boxes after any number of bytes.
  func boxes(in range: Range<Int>) -> [Box] {
    var boxes: [Box] = []
    var at = range.lowerBound
    while at + 8 <= range.upperBound, boxes.count < 4096 {
      guard var size = number(at: at, 4), let type = code(at: at + 4) else { break }
      var header = 8
      if size == 1 {
        // Seven bytes suffice for any file; eight could overflow.
        guard number(at: at + 8, 1) == 0, let large = number(at: at + 9, 7) else { break }
        size = large
        header = 16
      } else if size == 0 {
        size = range.upperBound - at
      }
      guard size >= header, size <= range.upperBound - at else { break }
      boxes.append(Box(type: type, content: (at + header)..<(at + size)))
      at += size
    }
    return boxes
  }

  func boxes() -> [Box] { boxes(in: 0..<size) }

  /// The first box at a path of types within a range.
  func box(_ path: String..., in range: Range<Int>) -> Box? {
    var found: Box?
    for type in path {
      found = boxes(in: found?.content ?? range).first { $0.type == type }
      guard found != nil else { return nil }
    }
    return found
  }
}
