import Zimg

/// A cache of resamplers: one camera's pictures have one size, and preparing takes as long as
/// resampling.
///
/// Used by one thread at a time.
final class PlaneResamplers {
  private struct Sizes: Hashable {
    let width, height, newWidth, newHeight: Int
  }

  /// A camera's two orientations in four sizes.
  private static let most = 8
  private static let mostBytesOfOne = 1 << 20

  private var prepared: [Sizes: PlaneResampler] = [:]

  /// Returns a resampler for planes of one size, from the cache if possible.
  func resampler(
    from size: (width: Int, height: Int), to newSize: (width: Int, height: Int)
  ) throws(ZimgError) -> PlaneResampler {
    let sizes = Sizes(
      width: size.width, height: size.height, newWidth: newSize.width, newHeight: newSize.height)
    if let resampler = prepared[sizes] { return resampler }
    let resampler = try PlaneResampler(from: size, to: newSize)
    // A resampler for a very large thumbnail would hold memory that no job accounts for.
    guard resampler.bytes <= Self.mostBytesOfOne else { return resampler }
    if prepared.count >= Self.most { prepared = [:] }
    prepared[sizes] = resampler
    return resampler
  }
}
