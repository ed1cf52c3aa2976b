package import Vips

extension Pictures {
  /// A HEIC file with a thumbnail, each an item of its own.
  ///
  /// Source: ISO/IEC 14496-12, section 8.11; ISO/IEC 23008-12, sections 6 and 7.
  ///
  /// - Parameters:
  ///   - turns: quarter turns anti-clockwise that the container applies to the picture.
  ///   - thumbnailTurns: those that it applies to the thumbnail.
  ///   - turnsFirst: whether the turns come before the other properties, as Sony writes them.
  package static func heic(
    _ picture: Picture, thumbnail: Picture, turns: UInt8? = nil, thumbnailTurns: UInt8? = nil,
    turnsFirst: Bool = false
  ) throws -> [UInt8] {
    let items = [
      (coded: try CodedItem(picture), turns: turns),
      (coded: try CodedItem(thumbnail), turns: thumbnailTurns),
    ]
    var properties: [UInt8] = []
    var associations = big(0, 4) + big(items.count, 4)
    var next = 1
    for (index, item) in items.enumerated() {
      var own = [item.coded.configuration, item.coded.extent]
      if let turns = item.turns {
        own.insert(box("irot", [turns]), at: turnsFirst ? 0 : own.count)
      }
      properties += own.flatMap { $0 }
      associations += big(index + 1, 2) + [UInt8(own.count)]
      associations += own.indices.map { UInt8(next + $0) | 0x80 }
      next += own.count
    }
    let types = items.indices.flatMap { index in
      box("infe", [2, 0, 0, 0] + big(index + 1, 2) + [0, 0] + Array("hvc1\0".utf8))
    }
    func file(dataAt start: Int) -> [UInt8] {
      var places = big(0, 4) + [0x44, 0] + big(items.count, 2)
      var at = start
      for (index, item) in items.enumerated() {
        places += big(index + 1, 2) + [0, 0] + big(1, 2) + big(at, 4)
        places += big(item.coded.data.count, 4)
        at += item.coded.data.count
      }
      let meta = box(
        "meta",
        big(0, 4) + box("hdlr", big(0, 8) + Array("pict".utf8) + big(0, 13))
          + box("pitm", big(0, 4) + big(1, 2)) + box("iloc", places)
          + box("iinf", big(0, 4) + big(items.count, 2) + types)
          + box("iref", big(0, 4) + box("thmb", big(2, 2) + big(1, 2) + big(1, 2)))
          + box("iprp", box("ipco", properties) + box("ipma", associations)))
      let type = box("ftyp", Array("heic".utf8) + big(0, 4) + Array("mif1heic".utf8))
      return type + meta + box("mdat", items.flatMap(\.coded.data))
    }
    let data = items.reduce(0) { $0 + $1.coded.data.count }
    return file(dataAt: file(dataAt: 0).count - data)
  }

  /// A box of an ISO base media file.
  package static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    big(content.count + 8, 4) + Array(type.utf8) + content
  }

  /// A number with its most significant byte first.
  package static func big(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: $0 < 8 ? value >> (8 * $0) : 0) }
  }
}

/// The only item of a HEIC that libvips wrote.
private struct CodedItem {
  /// The box with the codec's parameters.
  let configuration: [UInt8]
  /// The box with width and height.
  let extent: [UInt8]
  let data: [UInt8]

  init(_ picture: Picture) throws {
    let bytes = try picture.encoded(as: ".heic[Q=90,strip]")
    func boxes(_ type: String) -> [[UInt8]] {
      let name = Array(type.utf8)
      return bytes.indices.filter { $0 >= 4 && bytes[$0...].starts(with: name) }.map { at in
        let length = bytes[(at - 4)..<at].reduce(0) { $0 << 8 | Int($1) }
        return Array(bytes[(at - 4)..<min(at - 4 + length, bytes.count)])
      }
    }
    guard let configuration = boxes("hvcC").first, let extent = boxes("ispe").first,
      let data = boxes("mdat").first
    else { throw Missing.box }
    self.configuration = configuration
    self.extent = extent
    self.data = Array(data.dropFirst(8))
  }

  private enum Missing: Error { case box }
}
