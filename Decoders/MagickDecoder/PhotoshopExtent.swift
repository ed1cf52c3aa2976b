import PictureDecoding

/// Whether a PSD or PSB file ends before its merged picture does.
///
/// MagickCore 6.9.11 fills in what is missing of compressed pictures without a word. Source: Adobe
/// Photoshop file formats specification: after the header of 26 bytes come three sections, each
/// behind its length, then the merged picture.
enum PhotoshopExtent {
  /// - Throws: `DecoderError` of code `undecodable` if a number in the header can't be.
  static func isCutShort(
    _ bytes: UnsafeRawBufferPointer, isCancelled: () -> Bool
  ) throws(DecoderError) -> Bool {
    guard let version = bytes.big(4, 2), let channels = bytes.big(12, 2),
      let height = bytes.big(14, 4), let width = bytes.big(18, 4), let depth = bytes.big(22, 2)
    else { return true }
    // The format's own bounds, which keep the products below small.
    guard (1...2).contains(version), (1...56).contains(channels), [1, 8, 16, 32].contains(depth),
      (1...300_000).contains(width), (1...300_000).contains(height)
    else {
      throw DecoderError(
        .undecodable,
        "The PSD's header is damaged: version \(version), \(width) × \(height) pixels, "
          + "\(channels) channels of \(depth) bits")
    }
    var at = 26
    // The last length, of the layers, has eight bytes in PSB.
    for size in [4, 4, version == 2 ? 8 : 4] {
      // The first byte of eight is 0 in any file.
      guard let length = bytes.big(size == 8 ? at + 1 : at, size == 8 ? 7 : 4) else { return true }
      at += size + length
    }
    guard let compression = bytes.big(at, 2) else { return true }
    at += 2
    switch compression {
    case 0: return at + (width * depth + 7) / 8 * height * channels > bytes.count
    case 1:
      // The compressed length of each row stands first.
      let size = version == 2 ? 4 : 2
      let rows = height * channels
      guard at + rows * size <= bytes.count else { return true }
      var end = at + rows * size
      // At most 16.8 million: 56 channels of 300,000 rows.
      for row in 0..<rows {
        if row % 65_536 == 0, isCancelled() {
          throw DecoderError(.cancelled, "The job was cancelled")
        }
        end += bytes.big(at + row * size, size) ?? 0
      }
      return end > bytes.count
    default: return false
    }
  }
}
