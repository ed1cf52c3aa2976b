/// How much of a file is read and decoded at most.
///
/// All limits are counts, none is a time, so that the same file always gives the same picture.
enum MediaLimits {
  /// Pixels of a frame: those of 8192 × 8192.
  static let pixels = 1 << 26
  /// Bytes of one allocation by libav, in the whole process; a frame of 16-bit values in 4:2:0 has
  /// three bytes per pixel.
  static let allocation = 256 << 20
  /// Bytes read from the file for one request.
  static let bytesRead: Int64 = 1 << 30
  /// Streams of a file.
  static let streams = 256
  /// Bytes examined to find and describe streams; libav's own default.
  static let probeBytes: Int64 = 5_000_000
  /// Microseconds of film examined to describe streams; libav's own default.
  static let probeDuration: Int64 = 5_000_000
  /// Packets read to find one key frame.
  static let packetsPerFrame = 4000
  /// Key frames that are not whole before the next place is tried.
  static let damagedFrames = 8
  /// Frames decoded in a row, if no key frame is worth showing.
  static let framesInRow = 300
  /// Pixels decoded in a row: 300 frames in HD, 72 in 4K.
  static let pixelsInRow = 600_000_000
  /// Frames decoded in a row, if a short film has fewer key frames than are needed: two minutes.
  static let framesInSeries = 3000
  /// Pixels decoded in a row for that: a minute in HD, six seconds in 4K.
  static let pixelsInSeries = 3_000_000_000
  /// Bytes of a cover.
  static let coverBytes = 64 << 20
}
