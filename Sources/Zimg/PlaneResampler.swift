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
