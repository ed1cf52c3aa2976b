/// Lines of libvips' error buffer, made fit for people.
enum VipsMessage {
  /// What lines of a loader begin with. Lines of no known beginning may come from any of them.
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

  /// What lines of libtiff begin with that are about tags, of which most don't matter to pixels.
  private static let beginningsOfTags = [
    "TIFFFetch", "TIFFReadDirectory", "TIFFReadCustomDirectory", "TIFFAdvanceDirectory",
    "TIFFNumberOfDirectories", "TIFFCheckDirOffset", "TIFFSetField", "_TIFFV", "TIFFField",
    "TIFFFindField", "MissingRequired", "EstimateStripByteCounts", "ChopUp",
  ]

  /// What libraries call their messages, which says nothing to people.
  private static let labels = ["Corrupt JPEG data: ", "Warning: ", "Error: "]

  private static let longest = 160

  /// Returns the lines that can concern one kind of picture, each once, without paths.
  ///
  /// - Parameter unknown: whether lines that any kind may have said count.
  static func lines(
    of text: String, from loader: PictureLoader?, orUnknown unknown: Bool = true
  ) -> [String] {
    var kept: [String] = []
    for line in text.split(whereSeparator: \.isNewline) {
      let owner = beginnings.first { entry in entry.texts.contains { line.hasPrefix($0) } }?.loader
      guard owner == loader || owner == nil && unknown else { continue }
      // What libtiff says of a private tag that it passes over is no cause of anything.
      if line.contains("set_field_type") { continue }
      let tidy = tidy(line)
      // Nothing may be left of a line of paths or of full stops.
      if !tidy.isEmpty, !kept.contains(tidy) { kept.append(tidy) }
    }
    return kept
  }

  /// Whether a line of libtiff is about a tag.
  static func isOfTag(_ line: String) -> Bool { beginningsOfTags.contains { line.hasPrefix($0) } }

  /// What lines say, to stand behind a colon or in a sentence; `nil` where they say nothing.
  static func clause(_ lines: [String]) -> String? {
    let ofPixels = lines.filter { !isOfTag($0) }
    let clauses = (ofPixels.isEmpty ? lines : ofPixels).map(withoutNames)
      // A word alone, or what is left of a path, is no clause.
      .filter { $0.split(separator: " ").count { $0.contains(where: \.isLetter) } > 1 }
    return clauses.isEmpty ? nil : clauses.suffix(2).joined(separator: "; ")
  }

  /// Drops names of functions and other labels from the beginning of a line.
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
    return beginningSmall(rest.trimmingPrefix(while: \.isWhitespace))
  }

  /// An ordinary word begins small within a sentence; names and abbreviations stay as they are.
  private static func beginningSmall(_ text: Substring) -> String {
    let word = text.prefix { $0.isLetter }
    guard let first = word.first, word.dropFirst().allSatisfy(\.isLowercase), word.count > 1 else {
      return String(text)
    }
    return first.lowercased() + text.dropFirst()
  }

  /// Hides paths and control characters, and ends nowhere with a full stop.
  private static func tidy(_ line: Substring) -> String {
    let words = line.split(separator: " ").map { word in
      let isPath = ["/", "\"/", "'/"].contains { word.hasPrefix($0) }
      return isPath ? "…" : word.filter { $0.asciiValue.map { $0 >= 32 } ?? !$0.isNewline }
    }
    var text = ""
    // Whole words, so that no line ends in the middle of one.
    for word in words {
      guard text.count + 1 + word.count <= longest else { break }
      text += (text.isEmpty ? "" : " ") + word
    }
    while let last = text.last, ".,;: ".contains(last) { text.removeLast() }
    return text
  }
}
