internal import CVips

extension Picture {
  /// Computes all pixels into memory.
  ///
  /// - Parameter isCancelled: called every few rows, on a libvips thread.
  /// - Throws: `VipsError` of code `cancelled` if `isCancelled` returns `true`.
  package func rendered(
    isCancelled: @escaping @Sendable () -> Bool = { false }
  ) throws(VipsError) -> Picture {
    if isInMemory { return self }
    if isCancelled() { throw VipsError(.cancelled, "The job was cancelled") }
    let watch = Watch(isCancelled: isCancelled)
    let context = Unmanaged.passUnretained(watch).toOpaque()
    // A copy, because signals and kill marks belong to one image.
    let copy = try applying("The picture can't be copied") { pipeline_vips_copy(pointer, $0) }
    vips_image_set_progress(copy.pointer, 1)
    let handler = pipeline_vips_on_eval(
      copy.pointer,
      { image, _, context in
        guard let image, let context else { return }
        let watch = Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue()
        if watch.isCancelled() { vips_image_set_kill(image, 1) }
      }, context)
    defer {
      g_signal_handler_disconnect(copy.pointer, handler)
      withExtendedLifetime(watch) {}
    }
    guard let memory = vips_image_copy_memory(copy.pointer) else {
      if isCancelled() {
        _ = VipsError.drainBuffer()
        throw VipsError(.cancelled, "The job was cancelled")
      }
      throw .current("The \(loader?.title ?? "picture") can't be decoded", loader: loader)
    }
    // Otherwise it would report progress to the copy, which does not live as long.
    vips_image_set_progress(memory, 0)
    return Picture(owning: memory)
  }

  /// Computes all pixels and returns their bytes, row by row.
  package func pixelBytes() throws(VipsError) -> [UInt8] {
    var length = 0
    guard let bytes = vips_image_write_to_memory(pointer, &length) else {
      throw .current("The \(loader?.title ?? "picture") can't be decoded", loader: loader)
    }
    defer { g_free(bytes) }
    return Array(UnsafeRawBufferPointer(start: bytes, count: length))
  }

  /// Computes all pixels and encodes them as a file.
  ///
  /// - Parameter suffix: a file name suffix with options, such as `.jpg[Q=80]`.
  package func encoded(as suffix: String) throws(VipsError) -> [UInt8] {
    var bytes: UnsafeMutableRawPointer?
    var length = 0
    guard pipeline_vips_encode(pointer, suffix, &bytes, &length) == 0, let bytes else {
      throw .current("The picture can't be encoded")
    }
    defer { g_free(bytes) }
    return Array(UnsafeRawBufferPointer(start: bytes, count: length))
  }

  private final class Watch {
    let isCancelled: @Sendable () -> Bool
    init(isCancelled: @escaping @Sendable () -> Bool) { self.isCancelled = isCancelled }
  }
}

/// Returns one of libvips' built-in profiles.
///
/// - Parameter name: `srgb`, `p3` or `cmyk`.
package func builtInProfile(_ name: String) throws(VipsError) -> [UInt8] {
  try VipsLibrary.start()
  var blob: UnsafeMutablePointer<VipsBlob>?
  guard pipeline_vips_profile_load(name, &blob) == 0, let blob else {
    throw .current("The profile can't be had")
  }
  defer { vips_area_unref(UnsafeMutableRawPointer(blob).assumingMemoryBound(to: VipsArea.self)) }
  var length = 0
  guard let start = vips_blob_get(blob, &length) else { return [] }
  return Array(UnsafeRawBufferPointer(start: start, count: length))
}

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
