import Vips

/// Estimates of the memory that decoding a picture takes.
///
/// Measured with libvips 8.14.1 on 64 megapixels, beyond what the library takes
/// by itself: JPEG 11 MB, progressive 190 MB; PNG 39 MB, interlaced 210 MB; TIFF
/// with LZW 41 MB; HEIC 396 MB.
struct DecodeMemory {
  /// Bytes for a decode from top to bottom that keeps only some rows.
  let streamed: Int
  /// Bytes for a decode that keeps all pixels.
  let whole: Int

  /// What libvips and its libraries take for the smallest picture.
  private static let base = 48 << 20
  /// Rows that are kept by buffers of loader, resampler and sink.
  private static let rows = 512

  init(_ opened: OpenedPicture) {
    let header = opened.header
    let pixels = header.width * header.height
    let bytes = header.bands * header.bitsPerValue / 8
    let all = pixels * bytes
    let some = header.width * bytes * min(Self.rows, header.height)
    let needed: Int
    switch opened.loader {
    case .jpeg:
      // A progressive file's coefficients are kept, two bytes each; 4:2:0 has half as many.
      let halves = header.text("jpeg-chroma-subsample") == "4:2:0" ? 1 : 2
      needed = header.isInterlaced ? pixels * header.bands * halves + some : some
    case .png: needed = header.isInterlaced ? all + some : some
    // A raster of four bytes a pixel, beside the strip that it is made of.
    case .tiff: needed = opened.isConverted ? pixels * 8 : some * 2
    // The canvas, and the last one to restore from.
    case .gif: needed = pixels * 8
    case .webp: needed = pixels * 4 + all
    // Planes of the codec, then pixels of libheif, then those of libvips.
    case .heif: needed = pixels * 4 + all
    }
    streamed = Self.base + needed
    whole = Self.base + max(needed, 0) + all
  }
}
