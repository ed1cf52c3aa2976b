internal import CZimg
internal import Glibc

/// Resamples planes of one size to another with a three-lobed Lanczos kernel.
///
/// Source: `zimg_filter_graph_build` and `zimg_filter_graph_process`.
package final class PlaneResampler {
  private let graph: OpaquePointer
  private let scratch: UnsafeMutableRawPointer
  /// The size of its working memory, which it holds while it lives.
  package let bytes: Int
  private let newWidth: Int
  private let newHeight: Int

  private static let lobes = 3.0

  /// Prepares for planes of one size.
  ///
  /// - Throws: `ZimgError` if there is no memory or zimg refuses the sizes.
  package init(
    from size: (width: Int, height: Int), to newSize: (width: Int, height: Int)
  ) throws(ZimgError) {
    var parameters = zimg_graph_builder_params()
    zimg_graph_builder_params_default(&parameters, pipeline_zimg_version())
    parameters.resample_filter = ZIMG_RESIZE_LANCZOS
    parameters.filter_param_a = Self.lobes
    parameters.dither_type = ZIMG_DITHER_NONE
    parameters.cpu_type = ZIMG_CPU_AUTO_64B
    var before = Self.format(size)
    var after = Self.format(newSize)
    guard let graph = zimg_filter_graph_build(&before, &after, &parameters) else {
      throw .current()
    }
    var count = 0
    guard zimg_filter_graph_get_tmp_size(graph, &count) == ZIMG_ERROR_SUCCESS else {
      zimg_filter_graph_free(graph)
      throw .current()
    }
    do throws(ZimgError) {
      scratch = try Plane.allocate(max(count, 1))
    } catch {
      zimg_filter_graph_free(graph)
      throw error
    }
    self.graph = graph
    bytes = count
    (newWidth, newHeight) = newSize
  }

  deinit {
    zimg_filter_graph_free(graph)
    free(scratch)
  }

  /// Returns the plane in the new size.
  package func resample(_ plane: Plane) throws(ZimgError) -> Plane {
    let result = try Plane(width: newWidth, height: newHeight)
    let code = pipeline_zimg_process(
      graph, plane.start, plane.stride, result.start, result.stride, scratch)
    guard code == ZIMG_ERROR_SUCCESS else { throw .current() }
    return result
  }

  /// 8-bit greyscale in full range, so that no colours are converted.
  private static func format(_ size: (width: Int, height: Int)) -> zimg_image_format {
    var format = zimg_image_format()
    zimg_image_format_default(&format, pipeline_zimg_version())
    format.width = UInt32(size.width)
    format.height = UInt32(size.height)
    format.pixel_type = ZIMG_PIXEL_BYTE
    format.color_family = ZIMG_COLOR_GREY
    format.depth = 8
    format.pixel_range = ZIMG_RANGE_FULL
    return format
  }
}

/// One band of a picture: 8-bit values, in rows aligned as zimg requires.
package final class Plane {
  package let width: Int
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

/// A failure in zimg.
package struct ZimgError: Error, Hashable, Sendable, CustomStringConvertible {
  /// zimg's message, without a full stop.
  package var message: String

  package var description: String { message }

  /// Returns this thread's latest failure. Source: `zimg_get_last_error`.
  static func current() -> ZimgError {
    var text = [CChar](repeating: 0, count: 1024)
    zimg_get_last_error(&text, text.count)
    let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return ZimgError(message: String(decoding: bytes, as: UTF8.self))
  }
}
