extension EmbeddedMetadata {
  /// Walks the segments of a JPEG up to its image data.
  ///
  /// Source: ITU T.81, annex B; XMP part 3, section 1.1.3.
  mutating func readJPEG(_ reader: ByteReader, at start: Int) {
    var at = start + 2
    var photoshop: [UInt8] = []
    for _ in 0..<10_000 {
      guard reader.number(at: at, 1) == 0xFF, let marker = reader.number(at: at + 1, 1) else {
        break
      }
      // Any number of fill bytes may precede a marker.
      if marker == 0xFF {
        at += 1
        continue
      }
      guard ![0xD9, 0xDA].contains(marker), let length = reader.number(at: at + 2, 2), length >= 2
      else { break }
      let content = (at + 4)..<(at + 2 + length)
      switch marker {
      case 0xE1, 0xED:
        let bytes = reader.bytes(content) ?? []
        if bytes.starts(with: Self.exifPrefix) {
          addEXIF(bytes)
        } else if bytes.starts(with: Self.xmpPrefix), xmp == nil {
          xmp = Array(bytes.dropFirst(Self.xmpPrefix.count))
        } else if bytes.starts(with: Self.photoshopPrefix) {
          photoshop += bytes.dropFirst(Self.photoshopPrefix.count)
        }
      case 0xE2 where reader.code(at: content.lowerBound) == "MPF\0":
        pictures = pictures ?? Self.pictures(reader, in: content.dropFirst(4))
      // All frame headers; DHT, JPG and DAC have numbers between theirs.
      case 0xC0...0xCF where ![0xC4, 0xC8, 0xCC].contains(marker):
        bitDepth = bitDepth ?? reader.number(at: content.lowerBound, 1)
      default: break
      }
      at = content.upperBound
    }
    if !photoshop.isEmpty { readResources(ByteReader(photoshop), in: 0..<photoshop.count) }
  }

  /// Counts the pictures of a multi-picture file that are where its index says.
  ///
  /// The file itself begins with the first. Offsets count from the index, which is a directory of
  /// tags. Source: CIPA DC-007, sections 5.1 and 5.2.3.
  private static func pictures(_ reader: ByteReader, in range: Range<Int>) -> Int? {
    let tags = TagReader { offset, count in
      guard offset >= 0, offset < range.count else { return [] }
      let start = range.lowerBound + offset
      return reader.bytes(start..<min(start + count, range.upperBound)) ?? []
    }
    guard let tags, let index = tags.directory(at: tags.first),
      let entries = tags.bytes(0xB002, in: index, limit: 16 * 256)
    else { return nil }
    // An entry has kind, size, offset, and the numbers of two others.
    let others = stride(from: 16, to: entries.count - 15, by: 16).count { at in
      let size = entries[(at + 4)..<(at + 8)].number(littleEndian: tags.isLittleEndian)
      let offset = entries[(at + 8)..<(at + 12)].number(littleEndian: tags.isLittleEndian)
      let start = range.lowerBound + offset
      return offset > 0 && start + size <= reader.size
        && reader.number(at: start, 3) == 0xFFD8FF
    }
    return others > 0 ? 1 + others : nil
  }

  private static let exifPrefix = Array("Exif\0".utf8)
  private static let xmpPrefix = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
  private static let photoshopPrefix = Array("Photoshop 3.0\0".utf8)

  /// Walks the image resources of a Photoshop file.
  ///
  /// Source: Adobe's Photoshop File Formats Specification, “Image Resources Section”.
  mutating func readPhotoshop(_ reader: ByteReader) {
    bitDepth = reader.number(at: 22, 2)
    guard let colors = reader.number(at: 26, 4), let length = reader.number(at: 30 + colors, 4)
    else { return }
    readResources(
      reader, in: (34 + colors)..<min(34 + colors + length, max(34 + colors, reader.size)))
  }

  /// Walks image resources, which JPEG and TIFF contain as well.
  mutating func readResources(_ reader: ByteReader, in range: Range<Int>) {
    var at = range.lowerBound
    for _ in 0..<10_000 {
      guard at + 12 <= range.upperBound, reader.code(at: at) == "8BIM",
        let number = reader.number(at: at + 4, 2), let name = reader.number(at: at + 6, 1),
        let length = reader.number(at: at + 8 + name / 2 * 2, 4)
      else { break }
      // Name and content are padded to an even number of bytes.
      let start = at + 12 + name / 2 * 2
      guard start + length <= range.upperBound else { break }
      if [0x0404, 0x0422, 0x0424].contains(number), length <= Self.blockLimit {
        let bytes = reader.bytes(start..<(start + length))
        switch number {
        case 0x0404: iptc = iptc ?? bytes
        case 0x0422: addEXIF(bytes)
        default: xmp = xmp ?? bytes
        }
      }
      at = start + (length + 1) / 2 * 2
    }
  }
}
