import Containers
import Vips

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
