internal import CVips
internal import Glibc

/// Why libvips, or the kernel beneath it, failed.
package struct VipsError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// The bytes are damaged, cut short, or of a format that is not allowed.
    case undecodable
    /// The file is whole, but there is nothing to show, such as sound without a cover.
    case absent
    /// The picture is larger than the limits allow.
    case tooLarge
    /// The kernel can't read or write a file.
    case inputOutput
    /// The process was refused memory.
    case outOfMemory
    /// This libvips was built without a required part.
    case missing
    case cancelled
  }

  package var code: Code
  /// One sentence without a path.
  package var message: String
  package var errno: Int32?

  package init(_ code: Code, _ message: String, errno: Int32? = nil) {
    self.code = code
    self.message = message
    self.errno = errno
  }

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
    func isTold(_ text: String) -> Bool { lines.contains { $0.contains(text) } }
    let refusals = ["out of memory", "insufficient memory", "memory allocation error"]
    // libheif reports its limits as failures of memory.
    let limit = "Security limit exceeded: "
    if let line = lines.first(where: { $0.contains(limit) }) {
      let told = line.split(separator: limit).last.flatMap { VipsMessage.clause([String($0)]) }
      return VipsError(.tooLarge, "\(operation) because of a limit of libheif: \(told ?? line)")
    }
    if isTold(String(cString: strerror(ENOMEM)))
      || lines.contains(where: { line in refusals.contains { line.lowercased().contains($0) } })
    {
      return VipsError(.outOfMemory, "\(operation): there is not enough memory", errno: ENOMEM)
    }
    for number in [EIO, ENOSPC, EDQUOT, ESTALE, EMFILE, ENFILE]
    where isTold(String(cString: strerror(number))) {
      return VipsError(.inputOutput, message, errno: number)
    }
    // libheif lacks the decoder of a codec; libde265 and aom are separate packages.
    if isTold("Unsupported codec") || isTold("No decoding plugin") {
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

/// Turns lines of libvips' error buffer into readable text.
enum VipsMessage {
  /// Prefixes of each loader's lines. Lines without a known prefix may come from any loader.
  private static let beginnings: [(loader: PictureLoader, texts: [String])] = [
    (.jpeg, ["VipsJpeg", "jpegload"]),
    (.png, ["vipspng", "pngload", "spngload", "libpng"]),
    (.webp, ["webp", "webpload"]),
    (.gif, ["gifload"]),
    (.heif, ["heif", "heifload"]),
    (
      .tiff,
      [
        "tiff", "TIFF", "_TIFF", "Fax", "LZW", "ZIP", "JPEGSetup", "JPEGLib", "JPEGPre", "OJPEG",
        "PackBits", "PixarLog", "source input", "ThunderDecode", "LogL", "JBIG", "LZMA", "ZSTD",
      ]
    ),
  ]

  /// Prefixes of libtiff's lines about tags, most of which don't affect pixels.
  private static let beginningsOfTags = [
    "TIFFFetch", "TIFFReadDirectory", "TIFFReadCustomDirectory", "TIFFAdvanceDirectory",
    "TIFFNumberOfDirectories", "TIFFCheckDirOffset", "TIFFSetField", "_TIFFV", "TIFFField",
    "TIFFFindField", "MissingRequired", "EstimateStripByteCounts", "ChopUp",
  ]

  /// Messages that say less than what they mean.
  private static let clearer = [
    "samples out of range":
      "libvips reads no values of more than 32 bits, nor more than 10,000 values a pixel"
  ]

  /// Libraries' labels for messages, which tell users nothing.
  private static let labels = ["Corrupt JPEG data: ", "Warning: ", "Error: "]

  private static let longest = 160

  /// Returns the distinct lines that can concern one format, without paths.
  ///
  /// - Parameter unknown: whether to include lines that any loader may have written.
  static func lines(
    of text: String, from loader: PictureLoader?, orUnknown unknown: Bool = true
  ) -> [String] {
    var kept: [String] = []
    for line in text.split(whereSeparator: \.isNewline) {
      let owner = beginnings.first { entry in entry.texts.contains { line.hasPrefix($0) } }?.loader
      guard owner == loader || owner == nil && unknown else { continue }
      // A private tag that libtiff skips causes no failure.
      if line.contains("set_field_type") { continue }
      let tidy = tidy(line)
      // A line that consists of paths or full stops may be empty now.
      if !tidy.isEmpty, !kept.contains(tidy) { kept.append(tidy) }
    }
    return kept
  }

  static func isOfTag(_ line: String) -> Bool { beginningsOfTags.contains { line.hasPrefix($0) } }

  /// Joins lines into a clause, for use after a colon or in a sentence; `nil` if they say nothing.
  static func clause(_ lines: [String]) -> String? {
    let ofPixels = lines.filter { !isOfTag($0) }
    let clauses = (ofPixels.isEmpty ? lines : ofPixels).map(withoutNames)
      // A single word, or the rest of a path, is not a clause.
      .filter { $0.split(separator: " ").count { $0.contains(where: \.isLetter) } > 1 }
    return clauses.isEmpty ? nil : clauses.suffix(2).joined(separator: "; ")
  }

  /// Drops function names and other labels from the start of a line.
  private static func withoutNames(_ line: String) -> String {
    var rest = line[...]
    while true {
      if let label = labels.first(where: rest.hasPrefix) {
        rest = rest.dropFirst(label.count)
      } else if let colon = rest.firstIndex(of: ":"), rest[colon...].hasPrefix(": "),
        !rest[..<colon].contains(" ") || rest[..<colon] == "source input"
      {
        rest = rest[colon...].dropFirst(2)
      } else {
        break
      }
    }
    let told = rest.trimmingPrefix(while: \.isWhitespace)
    return clearer[String(told)] ?? beginningSmall(told)
  }

  /// Starts ordinary words in lower case, for use within a sentence; leaves names and
  /// abbreviations.
  private static func beginningSmall(_ text: Substring) -> String {
    let word = text.prefix { $0.isLetter }
    guard let first = word.first, word.dropFirst().allSatisfy(\.isLowercase), word.count > 1 else {
      return String(text)
    }
    return first.lowercased() + text.dropFirst()
  }

  /// Removes paths, control characters and trailing punctuation.
  private static func tidy(_ line: Substring) -> String {
    let words = line.split(separator: " ").map { word in
      let isPath = ["/", "\"/", "'/"].contains { word.hasPrefix($0) }
      return isPath ? "…" : word.filter { $0.asciiValue.map { $0 >= 32 } ?? !$0.isNewline }
    }
    var text = ""
    // Cut between words.
    for word in words {
      guard text.count + 1 + word.count <= longest else { break }
      text += (text.isEmpty ? "" : " ") + word
    }
    while let last = text.last, ".,;: ".contains(last) { text.removeLast() }
    return text
  }
}
