internal import Glibc

/// One band of a picture: values of 8 bits in rows that lie as zimg wants them.
package final class Plane {
  /// The number of values in a row.
  package let width: Int
  /// The number of rows.
  package let height: Int
  /// Bytes from the beginning of a row to that of the next.
  let stride: Int
  let start: UnsafeMutableRawPointer

  /// What zimg asks of addresses and strides where it uses the widest registers. Source: `zimg.h`.
  private static let alignment = 64

  /// Makes a plane whose values are not set yet.
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

  /// Memory that lies as zimg wants it, to be given to `free`. Source: posix_memalign(3).
  ///
  /// Swift's own allocation ends the process where there is none, which a worker's limit may mean.
  static func allocate(_ count: Int) throws(ZimgError) -> UnsafeMutableRawPointer {
    var start: UnsafeMutableRawPointer?
    guard posix_memalign(&start, alignment, count) == 0, let start else {
      throw ZimgError(message: "there is no memory for \(count) bytes")
    }
    return start
  }

  /// The values of a row, valid as long as the plane lives.
  package func row(_ index: Int) -> UnsafeMutablePointer<UInt8> {
    precondition((0..<height).contains(index), "a row of the plane")
    return (start + index * stride).assumingMemoryBound(to: UInt8.self)
  }
}
