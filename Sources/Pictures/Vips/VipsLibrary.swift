internal import CVips

/// This process's libvips.
package enum VipsLibrary {
  /// Loaders that may see a file; all others are blocked, whatever the file's name or content.
  ///
  /// `vips_block_untrusted_set` would leave `matrixload` open, so everything is blocked first. Only
  /// loaders that read from a source are allowed, because no others are called.
  private static let allowedLoaders = PictureLoader.allCases.map(\.className)

  private static let started: VipsError? = {
    guard pipeline_vips_init("pipeline") == 0 else {
      return VipsError(.missing, "libvips can't be started: \(VipsError.drainBuffer())")
    }
    // Files are processed in parallel; each decode uses one thread.
    vips_concurrency_set(1)
    // Every picture is decoded once, so an operation cache would only hold memory.
    vips_cache_set_max(0)
    vips_operation_block_set("VipsForeignLoad", 1)
    for loader in allowedLoaders { vips_operation_block_set(loader, 0) }
    // Warnings about odd metadata would go to standard error; failures are reported as errors.
    g_log_set_handler(
      "VIPS", G_LOG_LEVEL_WARNING,
      { _, _, message, _ in
        guard let message else { return }
        TIFFMessages.hear(warning: String(cString: message))
      }, nil)
    return nil
  }()

  /// Starts libvips once per process; later calls repeat the result.
  package static func start() throws(VipsError) {
    if let failure = started { throw failure }
  }

  /// The version, such as `8.14.1`.
  package static var version: String { "\(vips_version(0)).\(vips_version(1)).\(vips_version(2))" }

  /// The formats that this libvips can decode; some come in separate packages.
  package static let loaders: Set<PictureLoader> = {
    guard started == nil else { return [] }
    return Set(PictureLoader.allCases.filter { g_type_from_name($0.className) != 0 })
  }()

  /// The version and the decodable formats, which determine what can't be decoded.
  package static var runtime: String {
    let kinds = PictureLoader.allCases.filter(loaders.contains).map(\.rawValue)
    return "libvips \(version) (\(kinds.joined(separator: " ")))"
  }

  /// Frees what libvips keeps for the calling thread.
  ///
  /// Threads that libvips did not create must call this themselves. Source: `vips_thread_shutdown`.
  package static func endJob() {
    vips_thread_shutdown()
    // Otherwise, warnings about a decoded picture would be reported for the next one.
    _ = VipsError.drainBuffer()
  }
}
