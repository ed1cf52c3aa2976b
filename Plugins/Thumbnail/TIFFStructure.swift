import Containers
import Vips

/// Where the pages of a TIFF file are.
enum TIFFStructure {
  /// Whether a later page, or the pixels of one, should be behind the end of the file.
  ///
  /// libvips decodes the first page and doesn't look whether the others are there.
  static func isCutShort(_ file: PictureFile) throws(VipsError) -> Bool {
    try file.withTags { isCutShort($0, size: file.size) } ?? false
  }

  private static func isCutShort(_ reader: TagReader, size: Int) -> Bool {
    // BigTIFF, whose directories are of another shape, is left to libtiff.
    guard reader.magic == 42 else { return false }
    var next = reader.first
    var pages = 0
    var isCut = false
    while next != 0, pages < pageLimit, !isCut {
      guard next < size, let page = reader.directory(at: next) else {
        isCut = next >= size
        break
      }
      // The first page shows when it is decoded, and libtiff copes with lengths that are nonsense.
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

  /// More pages than this are not followed, since directories may form a ring.
  private static let pageLimit = 1000
  /// Offsets and lengths of strips and of tiles.
  private static let parts: [(UInt16, UInt16)] = [(0x0111, 0x0117), (0x0144, 0x0145)]
  private static let partLimit = 100_000
}
