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
