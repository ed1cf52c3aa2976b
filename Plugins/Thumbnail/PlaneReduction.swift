import Vips
import Zimg

/// Downscales an 8-bit picture band by band, with the processor's vector instructions.
///
/// Computes the picture into memory first, on the calling thread.
struct PlaneReduction {
  /// The final size; neither side is larger than the picture's.
  let target: (width: Int, height: Int)
  let resamplers: PlaneResamplers
  let isCancelled: @Sendable () -> Bool

  /// The most bytes of planes before downscaling. A larger picture is averaged first; if it is
  /// still too large, libvips downscales it, a few rows at a time.
  static let mostBytes = 64 << 20
  /// The multiple of the final size from which averaging first is faster than a kernel that wide.
  private static let muchLarger = 8

  /// The most bytes of four bands' planes for this final size.
  static func mostBytes(toReach side: Int) -> Int {
    min(mostBytes, 4 * (muchLarger * side) * (muchLarger * side))
  }

  /// Returns the smaller picture, or `nil` if planes don't suit this picture.
  func reduce(_ picture: Picture) throws(VipsError) -> Picture? {
    guard picture.isInteger, picture.bitsPerValue == 8, !picture.hasAlpha else { return nil }
    let averaged = try averaged(picture)
    guard Self.bytes(of: averaged) <= Self.mostBytes else { return nil }
    // If zimg refuses, libvips takes over, as long as no row was read: rows can be read only once.
    guard
      let resampler = try? resamplers.resampler(
        from: (averaged.width, averaged.height), to: target),
      let planes = try? (0..<averaged.bands).map({ _ in
        try Plane(width: averaged.width, height: averaged.height)
      })
    else { return nil }
    try averaged.forEachRow(isCancelled: isCancelled) { index, values in
      Self.separate(values, into: planes.map { $0.row(index) })
    }
    let small: [Plane]
    do throws(ZimgError) {
      small = try planes.map { plane throws(ZimgError) in try resampler.resample(plane) }
    } catch {
      throw VipsError(.inputOutput, "The picture can't be made smaller: \(error.message)")
    }
    return try picture.replacingPixels(width: target.width, height: target.height) { index, row in
      Self.interleave(small.map { $0.row(index) }, into: row)
    }
  }

  /// Averages whole pixels first if a picture is much larger, to at least twice the final size.
  private func averaged(_ picture: Picture) throws(VipsError) -> Picture {
    let horizontal = picture.width / target.width
    let vertical = picture.height / target.height
    if max(horizontal, vertical) < Self.muchLarger, Self.bytes(of: picture) <= Self.mostBytes {
      return picture
    }
    return try picture.averaged(horizontal: max(1, horizontal / 2), vertical: max(1, vertical / 2))
  }

  private static func bytes(of picture: Picture) -> Int {
    picture.width * picture.height * picture.bands
  }

  /// Separates the bands of a row of pixels.
  ///
  /// Three at once, as in nearly all pictures: band after band, a run over photographs executes 5 %
  /// more instructions.
  private static func separate(
    _ values: UnsafeBufferPointer<UInt8>, into planes: [UnsafeMutablePointer<UInt8>]
  ) {
    var index = 0
    var next = 0
    // Can't overflow, because the row is in memory.
    if planes.count == 3 {
      let (first, second, third) = (planes[0], planes[1], planes[2])
      while next < values.count {
        first[index] = values[next]
        second[index] = values[next &+ 1]
        third[index] = values[next &+ 2]
        next &+= 3
        index &+= 1
      }
      return
    }
    while next < values.count {
      for plane in planes {
        plane[index] = values[next]
        next &+= 1
      }
      index &+= 1
    }
  }

  /// Interleaves the bands of a row of pixels.
  private static func interleave(
    _ planes: [UnsafeMutablePointer<UInt8>], into values: UnsafeMutableBufferPointer<UInt8>
  ) {
    var index = 0
    var next = 0
    if planes.count == 3 {
      let (first, second, third) = (planes[0], planes[1], planes[2])
      while next < values.count {
        values[next] = first[index]
        values[next &+ 1] = second[index]
        values[next &+ 2] = third[index]
        next &+= 3
        index &+= 1
      }
      return
    }
    while next < values.count {
      for plane in planes {
        values[next] = plane[index]
        next &+= 1
      }
      index &+= 1
    }
  }
}

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
