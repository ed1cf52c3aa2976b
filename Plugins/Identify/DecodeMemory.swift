import Vips

/// Estimates of the memory that decoding a picture takes.
///
/// Measured with libvips 8.14.1 on 64 megapixels, beyond the library's own use: JPEG 11 MB,
/// progressive 190 MB; PNG 39 MB, interlaced 210 MB; TIFF with LZW 41 MB; HEIC 396 MB.
struct DecodeMemory {
  /// Bytes for decoding from top to bottom, keeping only some rows.
  let streamed: Int
  /// Bytes for decoding that keeps all pixels.
  let whole: Int

  /// What libvips and its libraries use for the smallest picture.
  private static let base = 48 << 20
  /// The rows that loader, resampler and sink buffer.
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
      // Progressive files keep all coefficients, two bytes each; 4:2:0 has half as many.
      let halves = header.text("jpeg-chroma-subsample") == "4:2:0" ? 1 : 2
      needed = header.isInterlaced ? pixels * header.bands * halves + some : some
    case .png: needed = header.isInterlaced ? all + some : some
    // A raster of four bytes per pixel, and the strip from which it is made.
    case .tiff: needed = opened.isConverted ? pixels * 8 : some * 2
    // The canvas, and the previous one for restoring.
    case .gif: needed = pixels * 8
    case .webp: needed = pixels * 4 + all
    // Planes of the codec, pixels of libheif, then pixels of libvips.
    case .heif: needed = pixels * 4 + all
    }
    streamed = Self.base + needed
    whole = Self.base + max(needed, 0) + all
  }
}
