import Vips

/// How many values must follow the header of a PBM, PGM or PPM file.
///
/// libvips takes bits, and numbers in decimal, for zeros where a file ends too early.
/// Source: netpbm's pages pbm(5), pgm(5) and ppm(5).
enum PixmapStructure {
  /// What is wrong with a file, as a clause; `nil` if nothing is.
  ///
  /// libvips also takes words for the number 1, and too large numbers for others.
  ///
  /// - Parameters:
  ///   - width: what libvips took for its width.
  ///   - height: what libvips took for its height.
  static func problem(
    _ file: PictureFile, width: Int, height: Int
  ) throws(VipsError) -> String? {
    var reader = PixmapReader(file)
    guard let header = try PixmapHeader(&reader) else { return nil }
    guard header.width == width, header.height == height else {
      return "its header has no valid width and height"
    }
    return try isCutShort(file, &reader, header) ? "it ends too early" : nil
  }

  /// Whether the file ends before its last value.
  private static func isCutShort(
    _ file: PictureFile, _ reader: inout PixmapReader, _ header: PixmapHeader
  ) throws(VipsError) -> Bool {
    guard let width = header.width, let height = header.height, let most = header.most else {
      return true
    }
    let samples = width * header.bands
    if header.isPlain {
      for _ in 0..<(samples * height) {
        guard try header.isBitmap ? reader.digit() : reader.number() != nil else { return true }
      }
      return false
    }
    let row = header.isBitmap ? (width + 7) / 8 : most > 255 ? samples * 2 : samples
    return file.size - reader.offset < row * height
  }
}
