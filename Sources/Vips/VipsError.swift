internal import CVips
internal import Glibc

/// Why libvips, or the kernel beneath it, refused.
package struct VipsError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of refusal it was.
  package enum Code: Hashable, Sendable {
    /// The bytes are damaged, cut short, or of no kind that may be read.
    case undecodable
    /// The picture is larger than the limits allow.
    case tooLarge
    /// The kernel could not read or write.
    case inputOutput
    /// This libvips was built without something that is needed.
    case missing
    /// The work was given up because it was asked to.
    case cancelled
  }

  /// What kind of refusal it was.
  package var code: Code
  /// One sentence without a path.
  package var message: String
  /// The error number of the kernel, where there is one.
  package var errno: Int32?

  /// Makes an error.
  package init(_ code: Code, _ message: String, errno: Int32? = nil) {
    self.code = code
    self.message = message
    self.errno = errno
  }

  /// The message.
  package var description: String { message }

  /// Takes what libvips says of its latest failure.
  ///
  /// The buffer belongs to the process, not to the thread, and collects warnings
  /// of other pictures too. So only the latest lines that can come from this kind
  /// of picture are believed, and the operation is named in our own words.
  static func current(_ operation: String, loader: PictureLoader? = nil) -> VipsError {
    let text = takeBuffer()
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
    // libheif without the decoder of a codec; libde265 and aom are packages of their own.
    if lines.contains(where: {
      $0.contains("Unsupported codec") || $0.contains("No decoding plugin")
    }) {
      return VipsError(.missing, message)
    }
    // Said by vips_call when a loader or saver was left out of this libvips.
    if lines.contains(where: { $0.contains("class \"") && $0.contains("not found") }) {
      return VipsError(.missing, message)
    }
    return VipsError(.undecodable, message)
  }

  /// Empties the buffer and returns what was in it.
  static func takeBuffer() -> String {
    guard let buffer = vips_error_buffer_copy() else { return "" }
    defer { g_free(buffer) }
    let text = String(
      decoding: UnsafeRawBufferPointer(start: buffer, count: strlen(buffer)), as: UTF8.self)
    if !text.isEmpty { TIFFMessages.hear(errors: text) }
    return text
  }
}
