/// 64 bits that hardly change when a picture is encoded anew, resized or brightened.
///
/// Each bit is the sign of one of the 64 lowest frequencies of brightness, without the mean, in the
/// order of the sum of half waves across and down, and then of those down. Source: C. Zauner,
/// Implementation and Benchmarking of Perceptual Image Hash Functions, 2010, section 3.1, with two
/// changes: frequencies are those of a triangle instead of a square, and are compared with zero
/// instead of their median, so that each bit depends on one of them alone.
struct PerceptualHash {
  let bits: UInt64

  private static let frequencies: [(u: Int, v: Int)] =
    Array(
      (1...10).flatMap { sum in (0...sum).map { (u: sum - $0, v: $0) } }.prefix(64))

  /// Less than an edge of one step of 8 bits through the middle of the picture makes.
  private static let leastDetail = 1.0 / 1024

  /// Hashes a picture; returns `nil` if it is blank.
  init?(_ swatch: Swatch) {
    let opaque = swatch.onMeanColor()
    // The weights of Rec. ITU-R BT.601, with which most programs make pictures grey.
    let brightness = opaque.red.indices.map { index in
      0.299 * opaque.red[index] + 0.587 * opaque.green[index] + 0.114 * opaque.blue[index]
    }
    let transform = CosineTransform(
      brightness, width: swatch.width, height: swatch.height, columns: 11, rows: 11)
    let values = Self.frequencies.map { transform[$0.u, $0.v] }
    guard values.contains(where: { abs($0) >= Self.leastDetail }) else { return nil }
    bits = values.reduce(0) { $0 << 1 | ($1 > CosineTransform.roundingError ? 1 : 0) }
  }

  /// 16 hexadecimal digits; the lowest frequency is the most significant bit.
  var text: String {
    let digits = String(bits, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
