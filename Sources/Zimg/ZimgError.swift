internal import CZimg

/// A failure in zimg.
package struct ZimgError: Error, Hashable, Sendable, CustomStringConvertible {
  /// zimg's message, without a full stop.
  package var message: String

  /// The message.
  package var description: String { message }

  /// Returns this thread's latest failure. Source: `zimg_get_last_error`.
  static func current() -> ZimgError {
    var text = [CChar](repeating: 0, count: 1024)
    zimg_get_last_error(&text, text.count)
    let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return ZimgError(message: String(decoding: bytes, as: UTF8.self))
  }
}
