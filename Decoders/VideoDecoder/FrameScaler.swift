import CLibAV
import Glibc
import PictureDecoding

/// A frame as a picture: RGB with 8 bits and square pixels, for sRGB screens.
struct Poster {
  /// Rows without gaps.
  var pixels: [UInt8]
  var width: Int
  var height: Int
  /// Whether all of the frame could be decoded.
  var isWhole: Bool
}

/// Scales frames and converts them to RGB by libswscale.
struct FrameScaler {
  /// The longer side that is needed, in pixels; `nil` for the full size.
  let longest: Int?
  let stream: VideoStream

  /// Averaging areas, with the exact variants of everything, which give the same bytes on each
  /// processor.
  private static let flags =
    SWS_AREA | SWS_ACCURATE_RND | SWS_BITEXACT | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP

  func poster(_ frame: VideoFrame) throws(DecoderError) -> Poster {
    let source = frame.pointer.pointee
    let size = targetSize(width: Int(source.width), height: Int(source.height))
    // Pixels that are not square can make more of them than there are in the frame.
    guard size.width <= MediaLimits.pixels / size.height else {
      throw DecoderError(
        .tooLarge,
        "The film is shown with \(size.width) × \(size.height) pixels; the limit is "
          + "\(MediaLimits.pixels / 1_000_000) megapixels")
    }
    let pixels: [UInt8]
    if let colors = ColorConversion(frame) {
      let wide = try scale(frame, to: size, as: AV_PIX_FMT_RGB48LE, valueBytes: 2)
      pixels = wide.withUnsafeBytes { colors.convert($0.bindMemory(to: UInt16.self)) }
    } else {
      pixels = try scale(frame, to: size, as: AV_PIX_FMT_RGB24, valueBytes: 1)
    }
    return Poster(
      pixels: pixels, width: size.width, height: size.height, isWhole: frame.isWhole)
  }

  /// The frame's size with square pixels, within `longest`.
  private func targetSize(width: Int, height: Int) -> (width: Int, height: Int) {
    let square = stream.squareSize(width: width, height: height)
    let longer = max(square.width, square.height)
    guard let longest, longer > longest else { return square }
    let scale = Double(longest) / Double(longer)
    return (
      max(1, Int((Double(square.width) * scale).rounded())),
      max(1, Int((Double(square.height) * scale).rounded()))
    )
  }

  /// Returns rows of RGB without gaps.
  private func scale(
    _ frame: VideoFrame, to size: (width: Int, height: Int), as format: AVPixelFormat,
    valueBytes: Int
  ) throws(DecoderError) -> [UInt8] {
    let source = frame.pointer.pointee
    let sourceFormat = AVPixelFormat(rawValue: source.format)
    guard source.width > 0, source.height > 0, sws_isSupportedInput(sourceFormat) != 0,
      let context = sws_getContext(
        source.width, source.height, sourceFormat, Int32(size.width), Int32(size.height), format,
        Self.flags, nil, nil, nil)
    else { throw DecoderError(.undecodable, "The film's pixels have a format that is not read") }
    defer { sws_freeContext(context) }
    sws_setColorspaceDetails(
      context, sws_getCoefficients(matrix(of: source)), range(of: source),
      sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16)

    // Vector instructions may write beyond the end of a row.
    let row = size.width * 3 * valueBytes
    let stride = (row + 63) / 64 * 64
    // Not by libav, whose limit for one allocation is that of frames in the file.
    guard let buffer = aligned_alloc(64, stride * size.height + 64) else {
      throw MediaInput.noMemory
    }
    defer { free(buffer) }
    let target = buffer.assumingMemoryBound(to: UInt8.self)
    // Both calls take arrays of up to four planes.
    let planes: [UnsafePointer<UInt8>?] = [
      source.data.0, source.data.1, source.data.2, source.data.3,
    ].map { $0.map { UnsafePointer($0) } }
    let strides = [
      source.linesize.0, source.linesize.1, source.linesize.2, source.linesize.3,
    ]
    let rows = sws_scale(
      context, planes, strides, 0, source.height, [target, nil, nil, nil],
      [Int32(stride), 0, 0, 0])
    guard rows == Int32(size.height) else {
      throw DecoderError(.undecodable, "The frame can't be scaled")
    }
    return [UInt8](unsafeUninitializedCapacity: row * size.height) { bytes, count in
      guard let start = bytes.baseAddress else { return }
      for index in 0..<size.height {
        (start + index * row).initialize(from: target + index * stride, count: row)
      }
      count = row * size.height
    }
  }

  /// The matrix that made Y, Cb and Cr; where the film does not say, that of its size.
  ///
  /// Source: Rec. ITU-R BT.601 is for standard, BT.709 for high definition.
  private func matrix(of frame: AVFrame) -> Int32 {
    // RGB has none, and libswscale takes the same one there and back only if it is its default.
    let flags = av_pix_fmt_desc_get(AVPixelFormat(rawValue: frame.format))?.pointee.flags ?? 0
    if flags & UInt64(AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL) != 0 { return SWS_CS_DEFAULT }
    return switch frame.colorspace {
    case AVCOL_SPC_BT709: SWS_CS_ITU709
    case AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: SWS_CS_BT2020
    case AVCOL_SPC_SMPTE240M: SWS_CS_SMPTE240M
    case AVCOL_SPC_FCC: SWS_CS_FCC
    case AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M: SWS_CS_ITU601
    default:
      // Pictures of JPEG are of BT.601 in any size; source: JFIF 1.02.
      stream.parameters.codec_id != AV_CODEC_ID_MJPEG && max(frame.width, frame.height) > 1024
        ? SWS_CS_ITU709 : SWS_CS_ITU601
    }
  }

  /// 1 if values use all of their range, as those of JPEG do.
  private func range(of frame: AVFrame) -> Int32 {
    if frame.color_range == AVCOL_RANGE_JPEG { return 1 }
    switch AVPixelFormat(rawValue: frame.format) {
    case AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUVJ440P,
      AV_PIX_FMT_YUVJ411P:
      return 1
    case let format:
      // Grey and RGB without a word about it.
      guard frame.color_range == AVCOL_RANGE_UNSPECIFIED,
        let description = av_pix_fmt_desc_get(format)
      else { return 0 }
      let isRGB = description.pointee.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
      return isRGB ? 1 : 0
    }
  }
}
