/// Writes HTML in which no text can become markup.
///
/// Names of elements and attributes are parts of the program (`StaticString`); every text and every value
/// is escaped when it is written. Source: HTML Standard, section 13.3.
struct HTMLWriter {
  private(set) var bytes: [UInt8] = []

  /// An attribute; `nil` for one that is left out, an empty text for one without a value.
  typealias Attributes = KeyValuePairs<StaticString, String?>

  init() {
    bytes.reserveCapacity(32 << 10)
    bytes += "<!doctype html>\n".utf8
  }

  /// Writes an element with what the body writes.
  mutating func element(
    _ name: StaticString, _ attributes: Attributes = [:],
    _ body: (inout HTMLWriter) throws -> Void
  ) rethrows {
    start(name, attributes)
    try body(&self)
    end(name)
  }

  /// Writes an element with a text.
  mutating func element(_ name: StaticString, _ attributes: Attributes, _ text: String) {
    start(name, attributes)
    self.text(text)
    end(name)
  }

  mutating func element(_ name: StaticString, _ text: String) { element(name, [:], text) }

  /// Writes an element without content or end, such as `img`.
  mutating func void(_ name: StaticString, _ attributes: Attributes = [:]) {
    start(name, attributes)
  }

  mutating func text(_ text: String) {
    for byte in text.utf8 { append(escaping: byte) }
  }

  /// Begins another line, for people who read the source.
  mutating func line() { bytes.append(UInt8(ascii: "\n")) }

  private mutating func start(_ name: StaticString, _ attributes: Attributes) {
    bytes.append(UInt8(ascii: "<"))
    append(name)
    for (attribute, value) in attributes {
      guard let value else { continue }
      bytes.append(UInt8(ascii: " "))
      append(attribute)
      guard !value.isEmpty || Self.needsValue(attribute) else { continue }
      bytes += "=\"".utf8
      text(value)
      bytes.append(UInt8(ascii: "\""))
    }
    bytes.append(UInt8(ascii: ">"))
  }

  private mutating func end(_ name: StaticString) {
    bytes += "</".utf8
    append(name)
    bytes.append(UInt8(ascii: ">"))
  }

  /// Whether an empty value is not the same as none in a page's eyes.
  private static func needsValue(_ attribute: StaticString) -> Bool {
    ["value", "alt", "data-allow"].contains("\(attribute)")
  }

  private mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  private mutating func append(escaping byte: UInt8) {
    switch byte {
    case UInt8(ascii: "&"): bytes += "&amp;".utf8
    case UInt8(ascii: "<"): bytes += "&lt;".utf8
    case UInt8(ascii: ">"): bytes += "&gt;".utf8
    case UInt8(ascii: "\""): bytes += "&quot;".utf8
    case UInt8(ascii: "'"): bytes += "&#x27;".utf8
    // HTML has no way to write them; a name may have them all the same.
    case 0..<0x09, 0x0B, 0x0C, 0x0E..<0x20, 0x7F: bytes += "\u{FFFD}".utf8
    default: bytes.append(byte)
    }
  }
}

extension HTMLWriter {
  /// A name and what writes its value.
  typealias Definition = (name: String, value: (inout HTMLWriter) -> Void)

  /// Writes a list of names with their values.
  ///
  /// - Parameter kind: the list's class, if it has one.
  mutating func definitions(_ kind: String?, _ rows: [Definition]) {
    element("dl", ["class": kind]) { html in
      html.line()
      for row in rows {
        html.element("div") { html in
          html.element("dt", row.name)
          html.element("dd", [:], row.value)
        }
        html.line()
      }
    }
    line()
  }
}
