internal import CVips

extension Picture {
  private static let rowsAtOnce = 16

  /// Whether all pixels are in memory, so that nothing needs computing.
  var isInMemory: Bool { pointer.pointee.dtype == VIPS_IMAGE_SETBUF }

  /// Computes all pixels on the calling thread, from top to bottom.
  ///
  /// - Parameters:
  ///   - isCancelled: called every few rows.
  ///   - body: receives each row's number and its values, which are valid only during the call.
  /// - Throws: `VipsError` of code `cancelled` if `isCancelled` returns `true`.
  package func forEachRow(
    isCancelled: () -> Bool = { false }, _ body: (Int, UnsafeBufferPointer<UInt8>) -> Void
  ) throws(VipsError) {
    guard let region = vips_region_new(pointer) else {
      throw .current("The picture can't be read", loader: loader)
    }
    defer { pipeline_vips_release(region) }
    let bytesOfRow = width * bands * bitsPerValue / 8
    var top = 0
    while top < height {
      if isCancelled() { throw VipsError(.cancelled, "The job was cancelled") }
      let count = min(Self.rowsAtOnce, height - top)
      var strip = VipsRect(left: 0, top: Int32(top), width: Int32(width), height: Int32(count))
      guard vips_region_prepare(region, &strip) == 0 else {
        throw .current("The \(loader?.title ?? "picture") can't be decoded", loader: loader)
      }
      for row in top..<top + count {
        let start = pipeline_vips_region_row(region, 0, Int32(row))
        body(row, UnsafeBufferPointer(start: start, count: bytesOfRow))
      }
      top += count
    }
  }

  /// Creates a picture in memory with new pixels and everything else from this one.
  ///
  /// - Parameter body: receives each row's number and the buffer for its values.
  package func replacingPixels(
    width newWidth: Int, height newHeight: Int,
    _ body: (Int, UnsafeMutableBufferPointer<UInt8>) -> Void
  ) throws(VipsError) -> Picture {
    guard let memory = vips_image_new_memory() else {
      throw .current("The pixels can't be kept")
    }
    let picture = Picture(owning: memory)
    var sources: [UnsafeMutablePointer<VipsImage>?] = [pointer, nil]
    guard vips_image_pipeline_array(memory, VIPS_DEMAND_STYLE_ANY, &sources) == 0 else {
      throw .current("The pixels can't be kept")
    }
    // The other picture's progress handlers may be gone.
    vips_image_set_progress(memory, 0)
    memory.pointee.Xsize = Int32(newWidth)
    memory.pointee.Ysize = Int32(newHeight)
    let row = UnsafeMutableBufferPointer<UInt8>.allocate(
      capacity: newWidth * bands * bitsPerValue / 8)
    defer { row.deallocate() }
    for index in 0..<newHeight {
      body(index, row)
      guard vips_image_write_line(memory, Int32(index), row.baseAddress) == 0 else {
        throw .current("The pixels can't be kept")
      }
    }
    return picture
  }
}
