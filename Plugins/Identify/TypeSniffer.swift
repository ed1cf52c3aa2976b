import CMagic
import Glibc
import PipelineModel
import PipelinePlugin

/// libmagic, with its database loaded once per instance.
///
/// Used by one thread at a time.
final class TypeSniffer {
  /// The number of bytes to examine.
  ///
  /// Enough for every picture and video signature; libmagic's own megabyte costs time for text,
  /// which nobody needs here.
  static let headLength = 1 << 16

  /// The version, such as `5.44`.
  static var version: String { "\(magic_version() / 100).\(magic_version() % 100)" }

  private let cookie: magic_t

  init() throws(PluginFailure) {
    // Skip archives, text encodings, document kinds and structure.
    let flags =
      MAGIC_MIME_TYPE | MAGIC_ERROR | MAGIC_NO_CHECK_COMPRESS | MAGIC_NO_CHECK_ELF
      | MAGIC_NO_CHECK_TOKENS
    guard let cookie = magic_open(flags) else {
      throw PluginFailure(.environment, "libmagic can't be started.")
    }
    guard magic_load(cookie, nil) == 0 else {
      let reason = magic_error(cookie).map { String(cString: $0) } ?? "no reason given"
      magic_close(cookie)
      throw PluginFailure(.environment, "libmagic's database can't be loaded: \(reason).")
    }
    self.cookie = cookie
  }

  deinit { magic_close(cookie) }

  func type(of bytes: [UInt8]) -> MediaType {
    guard let name = magic_buffer(cookie, bytes, bytes.count) else { return .unknown }
    let text = String(
      decoding: UnsafeRawBufferPointer(start: name, count: strlen(name)), as: UTF8.self)
    return Self.isMediaType(text) ? MediaType(rawValue: text) : .unknown
  }

  /// Whether text is a valid type and subtype, as in RFC 6838.
  private static func isMediaType(_ text: String) -> Bool {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let kinds = ["application", "audio", "font", "image", "message", "model", "text", "video"]
    guard parts.count == 2, kinds.contains(String(parts[0])), !parts[1].isEmpty else {
      return false
    }
    return text != "application/x-empty"
      && parts[1].utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ";") }
  }
}
