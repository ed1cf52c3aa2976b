package import Containers

/// How the pixels of a TIFF's first page are stored, as far as it decides what decodes them.
///
/// Source: TIFF 6.0, sections 8, 15 and 19.
package enum TIFFStructure {
  /// Whether libvips 8.14 does not read the page, although it is sound, and MagickCore 6.9.11 shows it
  /// rightly.
  ///
  /// These are 10, 12 and 14 bits a sample, floating-point numbers of 16 and 64 bits, and tiles in separate
  /// planes. MagickCore is wrong about 24 bits, and with most of these about grey with alpha and about grey
  /// in which 0 is white. libtiff converts tiled planes of RGB without alpha by itself.
  package static func isBeyondLibvips(_ reader: ByteReader) -> Bool {
    guard let tags = TagReader(reader), let page = tags.directory(at: tags.first) else {
      return false
    }
    let samples = tags.integer(0x0115, in: page) ?? 1
    switch (tags.integer(0x0106, in: page), samples) {
    case (1, 1), (2, 3), (2, 4): break
    default: return false
    }
    let compression = tags.integer(0x0103, in: page) ?? 1
    // Kinds of JPEG have pixels of their own.
    guard ![6, 7].contains(compression),
      let bits = same(tags.integers(0x0102, in: page)),
      let format = same(tags.integers(0x0153, in: page), absent: 1)
    else { return false }
    let isTiled = page.entries[0x0142] != nil
    let hasPlanes = tags.integer(0x011C, in: page) == 2
    switch (format, bits) {
    case (1, 10), (1, 12), (1, 14): return !isTiled
    case (3, 16), (3, 64): return !isTiled || hasPlainTiles(tags, page)
    case (1, 8), (1, 16): return isTiled && hasPlanes && samples != 3 && hasPlainTiles(tags, page)
    case (1, 32), (3, 32): return isTiled && hasPlanes && hasPlainTiles(tags, page)
    default: return false
    }
  }

  /// The number that all samples have; `nil` if they differ.
  private static func same(_ values: [Int], absent: Int? = nil) -> Int? {
    values.allSatisfy { $0 == values[0] } ? values.first ?? absent : nil
  }

  /// Whether a tile takes no more memory than a picture of common size.
  private static func hasPlainTiles(_ tags: TagReader, _ page: TagReader.Directory) -> Bool {
    guard let width = tags.integer(0x0142, in: page), let height = tags.integer(0x0143, in: page)
    else { return false }
    return (1...4096).contains(width) && (1...4096).contains(height)
  }
}
