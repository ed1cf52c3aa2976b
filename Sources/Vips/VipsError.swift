internal import CVips
internal import Glibc

/// Why libvips, or the kernel beneath it, failed.
package struct VipsError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure.
  package enum Code: Hashable, Sendable {
    /// The bytes are damaged, cut short, or of a format that is not allowed.
    case undecodable
    /// The picture is larger than the limits allow.
    case tooLarge
    /// The kernel failed to read or write.
    case inputOutput
    /// This libvips was built without a required part.
    case missing
    /// The job was cancelled.
    case cancelled
  }

  /// The kind of failure.
  package var code: Code
  /// One sentence without a path.
  package var message: String
  /// The kernel's error number, if any.
  package var errno: Int32?

  /// Creates an error.
  package init(_ code: Code, _ message: String, errno: Int32? = nil) {
    self.code = code
    self.message = message
    self.errno = errno
  }

  /// The message.
  package var description: String { message }

  /// Returns libvips' latest failure.
  ///
  /// The buffer belongs to the process, not to the thread, and also collects warnings about other
  /// pictures. So this uses only the latest lines that this format can have caused, and names the
  /// operation itself.
  static func current(_ operation: String, loader: PictureLoader? = nil) -> VipsError {
    let text = drainBuffer()
    let lines = VipsMessage.lines(of: text, from: loader)
    let told = VipsMessage.clause(lines) ?? "it is damaged or ends too early"
    let message = "\(operation): \(told)"
    for number in [EIO, ENOSPC, EDQUOT, ESTALE, ENOMEM, EMFILE, ENFILE]
    where lines.contains(where: { $0.contains(String(cString: strerror(number))) }) {
      return VipsError(.inputOutput, message, errno: number)
    }
    if lines.contains(where: { $0.contains("out of memory") }) {
      return VipsError(.inputOutput, message, errno: ENOMEM)
    }
    // libheif lacks the decoder of a codec; libde265 and aom are separate packages.
    if lines.contains(where: {
      $0.contains("Unsupported codec") || $0.contains("No decoding plugin")
    }) {
      return VipsError(.missing, message)
    }
    // From vips_call, if this libvips was built without a loader or saver.
    if lines.contains(where: { $0.contains("class \"") && $0.contains("not found") }) {
      return VipsError(.missing, message)
    }
    return VipsError(.undecodable, message)
  }

  /// Empties the buffer and returns what was in it.
  static func drainBuffer() -> String {
    guard let buffer = vips_error_buffer_copy() else { return "" }
    defer { g_free(buffer) }
    let text = String(
      decoding: UnsafeRawBufferPointer(start: buffer, count: strlen(buffer)), as: UTF8.self)
    if !text.isEmpty { TIFFMessages.hear(errors: text) }
    return text
  }
}
