import Containers

/// The size of an SVG that says too little of it for being drawn in another one.
///
/// librsvg scales what is drawn only if the root element has a `viewBox`, or a size in pixels; otherwise only the
/// canvas grows or shrinks. And libvips counts 72 pixels an inch for the canvas, where the drawing has 96.
/// Source: CSS Values 4, section 6.2.
enum DrawingViewport {
  /// Returns the drawing with a `viewBox`, a width and a height; `nil` if it needs none of that.
  ///
  /// - Parameter natural: returns the size in pixels that libvips finds.
  static func completed(
    _ file: PictureFile, natural: () throws(VipsError) -> (width: Int, height: Int)
  ) throws(VipsError) -> [UInt8]? {
    let head = try file.read(at: 0, count: DrawingRoot.headLength)
    if head.prefix(4).contains(0) { return try completedUTF8(of: file, natural: natural) }
    return try completed(head, natural: natural) { () throws(VipsError) in
      try file.read(at: 0, count: file.size)
    }
  }

  /// A drawing with two or four bytes a character, completed in UTF-8.
  private static func completedUTF8(
    of file: PictureFile, natural: () throws(VipsError) -> (width: Int, height: Int)
  ) throws(VipsError) -> [UInt8]? {
    let text = EncodedText.decode(try file.read(at: 0, count: min(file.size, mostWide)))
    // Its declaration names the other encoding.
    let end = text.hasPrefix("<?xml") ? text.firstRange(of: "?>")?.upperBound : nil
    let bytes = Array(text[(end ?? text.startIndex)...].utf8)
    return try completed(Array(bytes.prefix(DrawingRoot.headLength)), natural: natural) { bytes }
  }

  /// The most bytes of such a drawing; larger ones are not drawn, because their end is missing.
  private static let mostWide = 64 << 20

  private static func completed(
    _ head: [UInt8], natural: () throws(VipsError) -> (width: Int, height: Int),
    all: () throws(VipsError) -> [UInt8]
  ) throws(VipsError) -> [UInt8]? {
    guard let root = DrawingRoot(head), root.isWhole, root.values["viewBox"] == nil
    else { return nil }
    let lengths = ["width", "height"].map { root.text($0).flatMap(pixels) }
    let size: (width: Double, height: Double)
    if let width = lengths[0], let height = lengths[1] {
      if width.isPixels && height.isPixels { return nil }
      size = (width.value, height.value)
    } else {
      let found = try natural()
      size = (Double(found.width), Double(found.height))
    }
    let bytes = try all()
    // Another program may have cut the file meanwhile.
    guard bytes.count >= head.count else { return nil }
    var edits = [
      (range: root.nameEnd..<root.nameEnd, text: " viewBox=\"0 0 \(size.width) \(size.height)\"")
    ]
    // Whole pixels, because libvips rounds before it scales; the drawing then fills them.
    if root.values["preserveAspectRatio"] == nil {
      edits[0].text += " preserveAspectRatio=\"none\""
    }
    for (name, value) in [("width", size.width), ("height", size.height)] {
      let text = "\(max(1, Int(value.rounded())))"
      if let range = root.values[name] {
        edits.append((range, text))
      } else {
        edits[0].text += " \(name)=\"\(text)\""
      }
    }
    return edited(bytes, edits)
  }

  /// A length in pixels of 1/96 inch, and whether it was given so; `nil` if it depends on something else.
  private static func pixels(_ text: String) -> (value: Double, isPixels: Bool)? {
    let units: [String: Double] = [
      "": 1, "px": 1, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4, "pt": 96.0 / 72, "pc": 16,
    ]
    let trimmed = text.filter { !$0.isWhitespace }.lowercased()
    let unit = String(trimmed.reversed().prefix { $0.isLetter || $0 == "%" }.reversed())
    guard let factor = units[unit], let number = Double(trimmed.dropLast(unit.count)),
      number > 0, number < 1e6
    else { return nil }
    return (number * factor, factor == 1)
  }

  private static func edited(
    _ bytes: [UInt8], _ edits: [(range: Range<Int>, text: String)]
  ) -> [UInt8] {
    var result: [UInt8] = []
    var at = 0
    for (range, text) in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      result += bytes[at..<range.lowerBound] + Array(text.utf8)
      at = range.upperBound
    }
    return result + bytes[at...]
  }
}
