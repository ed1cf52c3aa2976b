import CLibRaw
import Glibc
import PictureDecoding

/// A raw file opened by LibRaw.
final class RawImage {
  private let handle: UnsafeMutablePointer<libraw_data_t>
  private let watch: Watch

  /// What LibRaw's callbacks are given.
  private final class Watch {
    let isCancelled: () -> Bool
    var hasBadData = false
    init(_ isCancelled: @escaping () -> Bool) { self.isCancelled = isCancelled }
  }

  /// More pixels than in any camera; LibRaw itself ends at 65,535 a side.
  static let pixelLimit = 500_000_000
  /// What LibRaw may allocate for sensor values: 500 million of up to eight bytes.
  private static let memoryLimit: UInt32 = 4096

  /// Opens a file for the time of a body.
  ///
  /// - Throws: `DecoderError`; `undecodable` if LibRaw does not know the file, `tooLarge` beyond the
  ///   limit of pixels, `inputOutput` if it failed because the kernel can't read the file.
  static func open<Value>(
    _ path: String, _ file: RawFile, isCancelled: () -> Bool,
    _ body: (RawImage) throws(DecoderError) -> Value
  ) throws(DecoderError) -> Value {
    if PhaseOneTables.areEndless(in: file) || CanonBoxes.areEndless(in: file) {
      throw DecoderError(.undecodable, "The raw file's tables are damaged or cut")
    }
    let result = withoutActuallyEscaping(isCancelled) {
      isCancelled -> Result<Value, DecoderError> in
      do throws(DecoderError) {
        let image = try RawImage(path, Watch(isCancelled))
        return .success(try body(image))
      } catch {
        return .failure(error)
      }
    }
    if case .failure(let error) = result, error.code == .undecodable,
      error.message != Self.unsupported
    {
      try file.check(whole: true, isCancelled: isCancelled)
    }
    return try result.get()
  }

  private init(_ path: String, _ watch: Watch) throws(DecoderError) {
    pipeline_raw_use_one_thread()
    // The default callbacks print.
    let flags =
      LIBRAW_OPIONS_NO_MEMERR_CALLBACK.rawValue | LIBRAW_OPIONS_NO_DATAERR_CALLBACK.rawValue
    guard let handle = libraw_init(UInt32(flags)) else {
      throw DecoderError(.outOfMemory, "There is not enough memory to open the file")
    }
    self.handle = handle
    self.watch = watch
    let context = Unmanaged.passUnretained(watch).toOpaque()
    libraw_set_dataerror_handler(
      handle,
      { context, _, _ in
        guard let context else { return }
        Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue().hasBadData = true
      }, context)
    libraw_set_progress_handler(
      handle,
      { context, _, _, _ in
        guard let context else { return 0 }
        return Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue().isCancelled() ? 1 : 0
      }, context)
    pipeline_raw_set_memory_limit(handle, Self.memoryLimit)
    try check(libraw_open_file(handle, path))
    let sizes = pipeline_raw_get_sizes(handle)
    guard sizes.raw_count > 0, sizes.width > 0, sizes.height > 0 else {
      throw DecoderError(.undecodable, "The file has no raw picture")
    }
    let pixels = Int(sizes.raw_width) * Int(sizes.raw_height)
    guard pixels <= Self.pixelLimit else {
      throw DecoderError(
        .tooLarge,
        "The picture is \(sizes.raw_width) × \(sizes.raw_height) pixels; the limit is "
          + "\(Self.pixelLimit / 1_000_000) megapixels")
    }
  }

  deinit { libraw_close(handle) }

  /// Whether LibRaw met values that can't be.
  var hasBadData: Bool { watch.hasBadData }

  /// The EXIF orientation.
  ///
  /// Source: dcraw's `flip`, whose bits mean: 1 mirrors, 2 flips, 4 swaps the axes.
  var orientation: Int {
    let flips = [1, 2, 4, 3, 5, 8, 6, 7]
    return flips[Int(pipeline_raw_get_sizes(handle).flip) & 7]
  }

  /// The number of sensor values.
  var sensorPixels: Int {
    let sizes = pipeline_raw_get_sizes(handle)
    return Int(sizes.raw_width) * Int(sizes.raw_height)
  }

  /// Whether each pixel is of one colour, so that half the size takes a quarter of the memory.
  var isMosaic: Bool { pipeline_raw_get_sizes(handle).is_mosaic != 0 }

  /// Whether a file is too short for this picture, however well it is compressed.
  ///
  /// LibRaw takes the end of the file for zeros in some kinds. Lossless JPEG needs a bit a pixel;
  /// a quarter of that leaves room for lossy kinds.
  func isTooLong(for file: RawFile) -> Bool { sensorPixels / 32 > file.size }

  /// The bits of a sensor value; `nil` if unknown.
  var bitDepth: Int? {
    let bits = Int(pipeline_raw_get_sizes(handle).bits)
    // Phase One's number of a format comes here as well.
    return (8...16).contains(bits) ? bits : nil
  }

  /// Returns the size of the developed picture after turning, with square pixels.
  ///
  /// Nothing may be developed afterwards.
  func displaySize() throws(DecoderError) -> (width: Int, height: Int) {
    try check(libraw_adjust_sizes_info_only(handle))
    let sizes = pipeline_raw_get_sizes(handle)
    return (Int(sizes.width), Int(sizes.height))
  }

  var make: String { String(cString: pipeline_raw_make(handle)) }
  var model: String { String(cString: pipeline_raw_model(handle)) }
  var lens: String { String(cString: pipeline_raw_lens(handle)) }

  /// Whether camera or EXIF block say that previews are Adobe RGB.
  var isAdobeRGB: Bool {
    let adobe = Int32(LIBRAW_COLORSPACE_AdobeRGB.rawValue)
    return pipeline_raw_camera_color_space(handle) == adobe
      || pipeline_raw_exif_color_space(handle) == adobe
  }

  /// Returns the thumbnail that LibRaw chooses; `nil` if there is none, or it is no JPEG.
  func thumbnail() -> [UInt8]? {
    // As in `RawPreviews.hasUnsafeThumbnail`, by what LibRaw itself found. It may not know a JPEG's size.
    let found = handle.pointee.thumbnail
    let pixels = Int(found.twidth) * Int(found.theight)
    guard pixels == 0 || Int(found.tlength) <= 3 * pixels, libraw_unpack_thumb(handle) == 0 else {
      return nil
    }
    var length: UInt32 = 0
    guard let bytes = pipeline_raw_jpeg(handle, &length), length > 0 else { return nil }
    return Array(UnsafeRawBufferPointer(start: bytes, count: Int(length)))
  }

  /// Develops the picture with the camera's white balance to sRGB, without turning it.
  ///
  /// Half the size takes each colour from one sensor value, without interpolating; otherwise PPG,
  /// a cheap interpolation without the zip patterns of the cheapest. The brightness is the
  /// sensor's: LibRaw's own automatic clips a hundredth of the pixels and lifts night to day.
  func develop(halfSize: Bool) throws(DecoderError) -> DecodedPicture {
    pipeline_raw_set_developing(
      handle,
      pipeline_raw_developing(
        half_size: halfSize ? 1 : 0, quality: 2, no_auto_bright: 1,
        // sRGB's curve, as LibRaw's documentation has it.
        gamma_power: 1 / 2.4, gamma_slope: 12.92))
    let orientation = orientation
    try check(libraw_unpack(handle))
    try check(libraw_dcraw_process(handle))
    var code: Int32 = 0
    guard let image = libraw_dcraw_make_mem_image(handle, &code) else {
      try check(code)
      throw DecoderError(.undecodable, "The raw picture can't be developed")
    }
    defer { libraw_dcraw_clear_mem(image) }
    let (width, height) = (Int(image.pointee.width), Int(image.pointee.height))
    let bands = Int(image.pointee.colors)
    guard image.pointee.type == LIBRAW_IMAGE_BITMAP, image.pointee.bits == 8,
      bands == 1 || bands == 3, width > 0, height > 0,
      Int(image.pointee.data_size) == width * height * bands
    else { throw DecoderError(.undecodable, "The raw picture has colours of an unknown kind") }
    let pixels = UnsafeRawBufferPointer(
      start: pipeline_raw_pixels(image), count: width * height * bands)
    var picture = DecodedPicture(
      .pixels(Array(pixels), width: width, height: height, bands: bands))
    picture.orientation = orientation
    return picture
  }

  /// Throws LibRaw's error as one of ours.
  private func check(_ code: Int32) throws(DecoderError) {
    switch LibRaw_errors(rawValue: code) {
    case LIBRAW_SUCCESS: return
    case LIBRAW_CANCELLED_BY_CALLBACK: throw DecoderError(.cancelled, "The job was cancelled")
    case LIBRAW_UNSUFFICIENT_MEMORY:
      throw DecoderError(.outOfMemory, "There is not enough memory for the raw picture")
    case LIBRAW_TOO_BIG:
      throw DecoderError(.tooLarge, "The raw picture needs more memory than is allowed")
    case LIBRAW_FILE_UNSUPPORTED, LIBRAW_NOT_IMPLEMENTED:
      throw DecoderError(.undecodable, Self.unsupported)
    case LIBRAW_IO_ERROR:
      throw DecoderError(.undecodable, "The raw data end too early or can't be read")
    case LIBRAW_DATA_ERROR:
      throw DecoderError(.undecodable, "The raw data are damaged")
    default:
      let reason = libraw_strerror(code).map { String(cString: $0) } ?? "no reason given"
      throw DecoderError(.undecodable, "The raw picture can't be developed: \(reason)")
    }
  }

  /// What is said of files that LibRaw does not know.
  static let unsupported = "LibRaw does not know this camera or its way to store pictures"
}
