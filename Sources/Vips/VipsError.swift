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
  /// The buffer belongs to the process, not to the thread: two failures at the
  /// same moment may be told as one, which is why the operation is named too.
  static func current(_ operation: String) -> VipsError {
    let text = takeBuffer()
    let told = text.isEmpty ? "no reason given" : text
    for number in [EIO, ENOSPC, EDQUOT, ESTALE, ENOMEM, EMFILE, ENFILE]
    where text.contains(String(cString: strerror(number))) {
      return VipsError(.inputOutput, "\(operation): \(told)", errno: number)
    }
    if text.contains("out of memory") {
      return VipsError(.inputOutput, "\(operation): \(told)", errno: ENOMEM)
    }
    if text.contains("class \"") && text.contains("not found") {
      return VipsError(.missing, "\(operation): \(told)")
    }
    return VipsError(.undecodable, "\(operation): \(told)")
  }

  /// Empties the buffer and makes one line of it, each statement once.
  static func takeBuffer() -> String {
    guard let buffer = vips_error_buffer_copy() else { return "" }
    defer { g_free(buffer) }
    let text = String(
      decoding: UnsafeRawBufferPointer(start: buffer, count: strlen(buffer)), as: UTF8.self)
    return tidy(text)
  }

  /// Joins lines with semicolons, drops repetitions, and anything that looks like a path.
  static func tidy(_ text: String) -> String {
    var seen: Set<Substring> = []
    var parts: [String] = []
    for line in text.split(whereSeparator: \.isNewline) where seen.insert(line).inserted {
      let words = line.split(separator: " ").map { word in
        word.contains("/") && !word.hasPrefix("unix") ? "…" : String(word)
      }
      parts.append(words.joined(separator: " "))
      if parts.count == 4 { break }
    }
    return String(parts.joined(separator: "; ").prefix(300))
  }
}
