import CUtf8proc
import Glibc

/// Forms of texts for comparing them, by utf8proc.
package enum TextFolding {
  /// The text without case, accents and other marks, and invisible characters: `Été` and `ETE` are
  /// both `ete`.
  ///
  /// A NUL, which ends a text in C, becomes U+FFFD.
  package static func fold(_ text: String) -> String {
    if text.utf8.contains(0) { return fold(text.replacing("\0", with: "\u{FFFD}")) }
    if isASCII(text) { return text.lowercased() }
    return map(
      text,
      UTF8PROC_COMPOSE.rawValue | UTF8PROC_CASEFOLD.rawValue | UTF8PROC_STRIPMARK.rawValue
        | UTF8PROC_IGNORE.rawValue)
  }

  /// The text with composed characters (NFC), as file names are compared.
  package static func compose(_ text: String) -> String {
    if isASCII(text) { return text }
    return map(text, UTF8PROC_COMPOSE.rawValue)
  }

  /// The words of a folded text: runs of letters and digits.
  package static func words(_ folded: String) -> [Substring] {
    // By bytes where that is the same, which takes a fraction of the time.
    guard folded.utf8.allSatisfy({ $0 < 0x80 }) else {
      return folded.split { !$0.isLetter && !$0.isNumber }
    }
    return folded.utf8.split { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        false
      default: true
      }
    }.map { Substring($0) }
  }

  private static func isASCII(_ text: String) -> Bool {
    // On the buffer if there is one, which takes a fraction of the time.
    text.utf8.withContiguousStorageIfAvailable { $0.allSatisfy { $0 < 0x80 } }
      ?? text.utf8.allSatisfy { $0 < 0x80 }
  }

  private static func map(_ text: String, _ options: UInt32) -> String {
    var text = text
    let stable = utf8proc_option_t(options | UTF8PROC_STABLE.rawValue)
    var mapped: UnsafeMutablePointer<UInt8>?
    let count = text.withUTF8 {
      utf8proc_map($0.baseAddress, $0.count, &mapped, stable)
    }
    // A Swift string is valid UTF-8, so it fails only without memory.
    guard let mapped, count >= 0 else { return text }
    defer { free(mapped) }
    return String(decoding: UnsafeBufferPointer(start: mapped, count: count), as: UTF8.self)
  }
}
