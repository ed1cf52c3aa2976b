import Containers
import Vips

/// The block structure of a GIF file.
///
/// Source: GIF89a specification, sections 17 to 27.
enum GIFStructure {
  /// How a file ends.
  enum End { case whole, cutBehindFirst, cut }

  /// Whether the bytes end in the middle of a block, and whether that is in the first frame.
  ///
  /// libvips decodes the first frame and does not check whether the others exist. A missing trailer
  /// is accepted, because some programs omit it.
  static func end(of bytes: [UInt8]) -> End {
    var frames = 0
    return isCutShort(bytes, &frames) ? frames > 0 ? .cutBehindFirst : .cut : .whole
  }

  /// - Parameter frames: counts the complete frames.
  private static func isCutShort(_ bytes: [UInt8], _ frames: inout Int) -> Bool {
    guard bytes.count >= 13 else { return true }
    var at = 13 + colorTable(bytes[10])
    while at < bytes.count {
      let isFrame = bytes[at] == 0x2C
      switch bytes[at] {
      case 0x21:  // extension: a label, then blocks
        at += 2
      case 0x2C:  // frame: a descriptor, its colours, the size of a code, then blocks
        guard at + 9 < bytes.count else { return true }
        at += 10 + colorTable(bytes[at + 9]) + 1
      default:
        // The trailer, or bytes that are not a block: decoders stop here.
        return false
      }
      guard let next = endOfBlocks(bytes, from: at) else { return true }
      if isFrame && next <= bytes.count { frames += 1 }
      at = next
    }
    return at > bytes.count
  }

  private static func colorTable(_ flags: UInt8) -> Int {
    flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1)
  }

  private static func endOfBlocks(_ bytes: [UInt8], from start: Int) -> Int? {
    var at = start
    while at < bytes.count {
      let length = Int(bytes[at])
      at += 1 + length
      if length == 0 { return at }
    }
    return nil
  }
}

/// The pages of a TIFF file.
enum TIFFStructure {
  /// Whether a later page, or its pixels, would be after the end of the file.
  ///
  /// libvips decodes the first page and does not check whether the others exist.
  static func isCutShort(_ file: PictureFile) throws(VipsError) -> Bool {
    try file.withTags { isCutShort($0, size: file.size) } ?? false
  }

  private static func isCutShort(_ reader: TagReader, size: Int) -> Bool {
    // BigTIFF has different directories, and is left to libtiff.
    guard reader.magic == 42 else { return false }
    var next = reader.first
    var pages = 0
    var isCut = false
    while next != 0, pages < pageLimit, !isCut {
      guard next < size, let page = reader.directory(at: next) else {
        isCut = next >= size
        break
      }
      // Decoding checks the first page, and libtiff copes with invalid lengths.
      isCut =
        pages > 0
        && Self.parts.contains { offsets, counts in
          let starts = reader.integers(offsets, in: page, limit: partLimit)
          let lengths = reader.integers(counts, in: page, limit: partLimit)
          return zip(starts, lengths).contains { $0 + $1 > size }
        }
      next = page.next
      pages += 1
    }
    return isCut
  }

  /// The most pages to follow, because directories may form a ring.
  private static let pageLimit = 1000
  /// Offsets and lengths of strips and of tiles.
  private static let parts: [(UInt16, UInt16)] = [(0x0111, 0x0117), (0x0144, 0x0145)]
  private static let partLimit = 100_000
}
