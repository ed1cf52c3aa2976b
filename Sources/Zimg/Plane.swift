internal import Glibc

/// One band of a picture: 8-bit values, in rows aligned as zimg requires.
package final class Plane {
  /// The number of values in a row.
  package let width: Int
  /// The number of rows.
  package let height: Int
  /// Bytes from the start of one row to the start of the next.
  let stride: Int
  let start: UnsafeMutableRawPointer

  /// The alignment that zimg requires for its widest registers. Source: `zimg.h`.
  private static let alignment = 64

  /// Creates a plane with uninitialised values.
  ///
  /// - Throws: `ZimgError` if there is no memory.
  package init(width: Int, height: Int) throws(ZimgError) {
    precondition(width > 0 && height > 0, "a plane has values")
    self.width = width
    self.height = height
    stride = (width + Self.alignment - 1) / Self.alignment * Self.alignment
    start = try Self.allocate(stride * height)
  }

  deinit { free(start) }

  /// Allocates aligned memory; release it with `free`. Source: posix_memalign(3).
  ///
  /// Swift's own allocation ends the process on failure, which a worker's memory limit may cause.
  static func allocate(_ count: Int) throws(ZimgError) -> UnsafeMutableRawPointer {
    var start: UnsafeMutableRawPointer?
    guard posix_memalign(&start, alignment, count) == 0, let start else {
      throw ZimgError(message: "there is no memory for \(count) bytes")
    }
    return start
  }

  /// The values of a row, valid while the plane lives.
  package func row(_ index: Int) -> UnsafeMutablePointer<UInt8> {
    precondition((0..<height).contains(index), "a row of the plane")
    return (start + index * stride).assumingMemoryBound(to: UInt8.self)
  }
}
