internal import CPictureLoaders
internal import CVips

/// A picture in libvips: a header, metadata, and pixels computed on demand.
///
/// Used by one thread at a time.
package final class Picture {
  let pointer: UnsafeMutablePointer<VipsImage>
  // A lazily decoded picture reads from its source until its last pixel is computed.
  let source: PictureSource?
  /// The format that the pixels are decoded from; it decides which libvips messages are relevant.
  let loader: PictureLoader?

  init(
    owning pointer: UnsafeMutablePointer<VipsImage>, source: PictureSource? = nil,
    loader: PictureLoader? = nil
  ) {
    self.pointer = pointer
    self.source = source
    self.loader = loader
  }

  deinit { pipeline_vips_release(pointer) }

  /// How a loader treats damaged data.
  package enum Strictness: Sendable {
    /// Reads the header and shows whatever pixels there are.
    case lenient
    /// Refuses data that ends too early.
    case truncated
  }

  /// Reads a header; pixels are decoded on demand, from top to bottom.
  ///
  /// - Parameters:
  ///   - shrink: any factor from 1 for WebP, a power of two for JPEG 2000, any factor for drawings, below
  ///     1 to enlarge them; otherwise 1.
  ///   - strictness: how to treat data that ends too early.
  package static func load(
    _ source: PictureSource, as loader: PictureLoader, shrink: Double = 1,
    strictness: Strictness = .truncated
  ) throws(VipsError) -> Picture {
    // Strict loading would refuse a GIF for its last frame, which is not needed.
    let isStrict = strictness == .truncated && loader != .gif
    let failOn = isStrict ? VIPS_FAIL_ON_TRUNCATED : VIPS_FAIL_ON_NONE
    let access = VIPS_ACCESS_SEQUENTIAL
    let operation = "The \(loader.title) can't be decoded"
    return try make(operation, source: source, loader: loader) { out in
      switch loader {
      case .webp:
        return pipeline_vips_load_webp(source.pointer, out, 1 / shrink, access, failOn)
      case .svg, .pdf:
        return pipeline_vips_load_drawing(
          loader.operation, source.pointer, out, 1 / shrink, failOn)
      case .jp2k:
        let halvings = Int32(max(1, shrink).exponent)
        return pipeline_vips_load_jp2k(source.pointer, out, halvings, access, failOn)
      case .exr, .fits:
        // A file in memory has none; no file contains one of these.
        guard let path = source.path else { return -1 }
        return pipeline_vips_load_file(loader.operation, path, out, access, failOn)
      default:
        return pipeline_vips_load(loader.operation, source.pointer, out, access, failOn)
      }
    }
  }

  /// Reads the first frames of an animated picture, one below the other; pixels are decoded on demand, from
  /// top to bottom.
  package static func loadFrames(
    _ source: PictureSource, as loader: PictureLoader, count: Int
  ) throws(VipsError) -> Picture {
    try make("The \(loader.title) can't be decoded", source: source, loader: loader) { out in
      pipeline_vips_load_frames(
        loader.operation, source.pointer, out, Int32(clamping: count), VIPS_FAIL_ON_TRUNCATED)
    }
  }

  /// Reads the header of the first thumbnail in a HEIF file, or of the picture if there is none.
  package static func loadHEIFThumbnail(_ source: PictureSource) throws(VipsError) -> Picture {
    try make("The HEIF's thumbnail can't be decoded", source: source, loader: .heif) { out in
      pipeline_vips_load_heif_thumbnail(source.pointer, out, VIPS_FAIL_ON_TRUNCATED)
    }
  }

  /// Opens the first page of a TIFF whose colours libtiff must convert to RGB.
  static func loadConvertedTIFF(_ source: PictureSource) throws(VipsError) -> Picture {
    try make("The TIFF can't be decoded", source: source, loader: .tiff) { out in
      pipeline_tiff_load_rgba(source.pointer, out)
    }
  }

  /// Creates a picture from pixels in memory, with `bands` interleaved 8-bit values each.
  package static func pixels(
    _ bytes: [UInt8], width: Int, height: Int, bands: Int
  ) throws(VipsError) -> Picture {
    try VipsLibrary.start()
    precondition(bytes.count == width * height * bands, "pixels and dimensions disagree")
    guard
      let pointer = vips_image_new_from_memory_copy(
        bytes, bytes.count, Int32(width), Int32(height), Int32(bands), VIPS_FORMAT_UCHAR)
    else { throw .current("The pixels can't be used") }
    let picture = Picture(owning: pointer)
    return try picture.reinterpreted(bands < 3 ? .grey : .srgb)
  }

  /// Calls an operation that returns a new image.
  static func make(
    _ operation: String, source: PictureSource? = nil, loader: PictureLoader? = nil,
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<VipsImage>?>) -> Int32
  ) throws(VipsError) -> Picture {
    var out: UnsafeMutablePointer<VipsImage>?
    guard body(&out) == 0, let out else { throw .current(operation, loader: loader) }
    return Picture(owning: out, source: source, loader: loader)
  }

  /// Calls an operation on this picture; the result keeps the same source alive.
  func applying(
    _ operation: String,
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<VipsImage>?>) -> Int32
  ) throws(VipsError) -> Picture {
    try Picture.make(operation, source: source, loader: loader, body)
  }
}

extension Picture {
  /// The colour space, as far as it matters here.
  package enum Space: Hashable, Sendable { case srgb, srgb16, grey, grey16, cmyk, other }

  /// The stored width in pixels.
  package var width: Int { Int(vips_image_get_width(pointer)) }

  /// The stored height in pixels; of one frame if there are several.
  package var height: Int { Int(vips_image_get_height(pointer)) }

  /// The number of values per pixel, alpha included.
  package var bands: Int { Int(vips_image_get_bands(pointer)) }

  package var hasAlpha: Bool { vips_image_hasalpha(pointer) != 0 }

  /// Bits of one value: 8, 16, 32 or 64.
  package var bitsPerValue: Int { Int(vips_format_sizeof(vips_image_get_format(pointer))) * 8 }

  /// Whether values are unsigned integers of 8 or 16 bits.
  package var isInteger: Bool {
    let format = vips_image_get_format(pointer)
    return format == VIPS_FORMAT_UCHAR || format == VIPS_FORMAT_USHORT
  }

  /// Whether values are floating-point numbers.
  package var isFloat: Bool { vips_image_get_format(pointer) == VIPS_FORMAT_FLOAT }

  package var space: Space {
    switch vips_image_get_interpretation(pointer) {
    case VIPS_INTERPRETATION_sRGB, VIPS_INTERPRETATION_RGB: .srgb
    case VIPS_INTERPRETATION_RGB16: .srgb16
    case VIPS_INTERPRETATION_B_W: .grey
    case VIPS_INTERPRETATION_GREY16: .grey16
    case VIPS_INTERPRETATION_CMYK: .cmyk
    default: .other
    }
  }

  /// The greatest value of a band: 255 or 65535.
  package var white: Double { bitsPerValue == 16 ? 65535 : 255 }
}
