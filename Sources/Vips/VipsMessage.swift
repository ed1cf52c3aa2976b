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

  /// Returns the lines that can concern one kind of picture, each once, without paths.
  static func lines(of text: String, from loader: PictureLoader?) -> [String] {
    var kept: [String] = []
    for line in text.split(whereSeparator: \.isNewline) {
      let owner = beginnings.first { entry in entry.texts.contains { line.hasPrefix($0) } }?.loader
      if let owner, owner != loader { continue }
      // What libtiff says of a private tag that it passes over is no cause of anything.
      if line.contains("set_field_type") { continue }
      let tidy = tidy(line)
      // Nothing may be left of a line of paths or of full stops.
      if !tidy.isEmpty, !kept.contains(tidy) { kept.append(tidy) }
    }
    return kept
  }

  /// Hides paths and control characters, and ends nowhere with a full stop.
  private static func tidy(_ line: Substring) -> String {
    let words = line.split(separator: " ").map { word in
      let isPath = ["/", "\"/", "'/"].contains { word.hasPrefix($0) }
      return isPath ? "…" : word.filter { $0.asciiValue.map { $0 >= 32 } ?? !$0.isNewline }
    }
    var text = String(words.joined(separator: " ").prefix(160))
    while text.hasSuffix(".") { text.removeLast() }
    return text
  }
}
