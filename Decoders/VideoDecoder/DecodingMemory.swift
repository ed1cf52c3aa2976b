import CLibAV

/// Estimates of the memory that decoding a poster takes: a bound for films decoded in a row.
///
/// Key frames alone, which most films need, take about a quarter of it. Measured with libav 59 in
/// 4K: key frames of H.264 and HEVC 33 MB, in 10 bits 45 MB; in a row, HEVC in 10 bits 252 MB,
/// AV1 in 10 bits 238 MB, H.264 with 16 reference frames 295 MB and in 10 bits 441 MB.
struct DecodingMemory {
  /// Bytes for a picture of at most 1024 pixels.
  let reduced: Int
  /// Bytes for a picture of the full size.
  let whole: Int

  /// What the smallest film takes, and half of it loading libav with the 140 libraries that
  /// Debian links it to.
  private static let base = 64 << 20
  /// Frames beside those that the codec refers to: of the decoder, the search and waiting ones.
  private static let extraFrames = 8

  init(_ film: VideoStream?, cover: Int) {
    guard let film else {
      (reduced, whole) = (Self.base + 3 * cover, Self.base + 3 * cover)
      return
    }
    let (width, height) = (film.parameters.width, film.parameters.height)
    let pixels = Int(width) * Int(height)
    let measured = Int(
      av_image_get_buffer_size(AVPixelFormat(rawValue: film.parameters.format), width, height, 64))
    // Where the format is unknown, that of 16-bit values in 4:2:0.
    let frame = measured > 0 ? measured : pixels * 3
    reduced = Self.base + frame * (Self.references(of: film.parameters) + Self.extraFrames)
    // Rows by libswscale, those of the best and the next candidate; 16-bit ones for HDR.
    let square = film.squareSize(width: Int(width), height: Int(height))
    let transfer = film.parameters.color_trc
    let isWide = transfer == AVCOL_TRC_SMPTE2084 || transfer == AVCOL_TRC_ARIB_STD_B67
    whole = reduced + square.width * square.height * (isWide ? 18 : 12)
  }

  /// How many frames later ones may refer to.
  private static func references(of film: AVCodecParameters) -> Int {
    let pixels = Int(film.width) * Int(film.height)
    switch film.codec_id {
    case AV_CODEC_ID_H264:
      // MaxDpbMbs of Rec. ITU-R H.264, table A-1, in macroblocks of 256 pixels.
      let steps = [
        (10, 396), (12, 2376), (21, 4752), (31, 18_000), (32, 20_480), (41, 32_768),
        (42, 34_816), (50, 110_400), (52, 184_320),
      ]
      let blocks = limit(of: film.level, steps) ?? 696_320
      return min(16, blocks * 256 / max(pixels, 256))
    case AV_CODEC_ID_HEVC:
      // MaxLumaPs of Rec. ITU-R H.265, table A.8, and maxDpbSize of its A.4.2; levels are times 30.
      let steps = [
        (30, 36_864), (60, 122_880), (63, 245_760), (90, 552_960), (93, 983_040),
        (123, 2_228_224), (156, 8_912_896),
      ]
      let most = limit(of: film.level, steps) ?? 35_651_584
      if pixels * 4 <= most { return 16 }
      if pixels * 2 <= most { return 12 }
      return pixels * 4 <= most * 3 ? 8 : 6
    default:
      // VP9 and AV1 have eight; all others fewer.
      return 8
    }
  }

  /// The limit of the first step that a level does not exceed; `nil` for unknown and higher levels.
  private static func limit(of level: Int32, _ steps: [(level: Int, limit: Int)]) -> Int? {
    level > 0 ? steps.first { Int(level) <= $0.level }?.limit : nil
  }
}
