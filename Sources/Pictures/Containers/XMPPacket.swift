/// The simple properties of a picture in an XMP packet.
///
/// Reads only elements and attributes with namespaces, and keeps simple properties of the resource
/// itself, and Google's list of a file's parts. Source: XMP part 1 (ISO 16684-1), section 7.
package struct XMPPacket {
  /// The namespaces whose properties are kept, with their usual prefixes.
  private static let namespaces = [
    "http://ns.adobe.com/exif/1.0/": "exif", "http://ns.adobe.com/photoshop/1.0/": "photoshop",
    "http://ns.adobe.com/xap/1.0/": "xmp", "http://ns.adobe.com/tiff/1.0/": "tiff",
    "http://ns.google.com/photos/1.0/camera/": "GCamera",
  ]
  private static let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

  private static let part = "http://ns.google.com/photos/1.0/container/Item"
  private static let ofPart = "http://ns.google.com/photos/1.0/container/item/"
  /// More parts than a file has.
  private static let mostParts = 64

  /// Simple properties by name, such as `xmp:CreateDate`.
  package private(set) var properties: [String: String] = [:]

  /// The parts that the file consists of, each with `Semantic`, `Length` and more.
  package private(set) var items: [[String: String]] = []

  /// Reads a packet in UTF-8, UTF-16 or UTF-32; invalid XML has no properties.
  package init(_ bytes: [UInt8]) {
    var markup = Markup(EncodedText.decode(bytes))
    // For each open element, its name with namespace, and its prefixes.
    var open: [(name: String, prefixes: [String: String])] = []
    var text = ""
    for _ in 0..<200_000 {
      guard let part = markup.next() else { return }
      switch part {
      case .text(let more): text += more.prefix(256 - min(256, text.utf8.count))
      case .start(let tag):
        text = ""
        var prefixes = open.last?.prefixes ?? [:]
        for (name, value) in tag.attributes where name.hasPrefix("xmlns:") {
          // Others are irrelevant, and the number of inherited prefixes is bounded.
          let isKnown =
            Self.namespaces[value] != nil || value == Self.rdf || value == Self.ofPart
            || value + "Item" == Self.part
          prefixes[String(name.dropFirst(6))] = isKnown ? value : nil
        }
        guard prefixes.count <= 64 else { return }
        let name = Self.expanded(tag.name, prefixes)
        if name == Self.rdf + "Description", open.last?.name == Self.rdf + "RDF" {
          for (attribute, value) in tag.attributes {
            keep(Self.expanded(attribute, prefixes), value)
          }
        }
        if name == Self.part, items.count < Self.mostParts {
          items.append([:])
          for (attribute, value) in tag.attributes {
            keep(ofPart: Self.expanded(attribute, prefixes), value)
          }
        }
        guard !tag.isEmpty else { continue }
        guard open.count < 64 else { return }
        open.append((name, prefixes))
      case .end:
        guard let element = open.popLast() else { return }
        let parents = open.suffix(2).map(\.name)
        if parents == [Self.rdf + "RDF", Self.rdf + "Description"] { keep(element.name, text) }
        if open.last?.name == Self.part { keep(ofPart: element.name, text) }
        text = ""
      }
    }
  }

  private mutating func keep(_ name: String, _ value: String) {
    let value = value.trimmed
    guard !value.isEmpty, value.utf8.count <= 256,
      let (space, prefix) = Self.namespaces.first(where: { name.hasPrefix($0.key) })
    else { return }
    let key = "\(prefix):\(name.dropFirst(space.count))"
    if properties[key] == nil { properties[key] = value }
  }

  private mutating func keep(ofPart name: String, _ value: String) {
    guard name.hasPrefix(Self.ofPart), value.utf8.count <= 256, !items.isEmpty else { return }
    items[items.count - 1][String(name.dropFirst(Self.ofPart.count))] = value.trimmed
  }

  private static func expanded(_ name: String, _ prefixes: [String: String]) -> String {
    let parts = name.split(separator: ":", maxSplits: 1)
    guard parts.count == 2, let space = prefixes[String(parts[0])] else { return name }
    return space + parts[1]
  }

  // MARK: - Sidecars

  /// Returns whether a file's first bytes are pure XMP: a sidecar, or a packet.
  ///
  /// Such a file begins like XML, with an XMP or RDF element first. A picture with an embedded
  /// packet does not.
  package static func isPacket(_ head: [UInt8]) -> Bool {
    var markup = Markup(EncodedText.decode(Array(head.prefix(8192))))
    for _ in 0..<64 {
      switch markup.next() {
      case .text(let text)?: guard text.trimmed.isEmpty else { return false }
      case .start(let tag)?:
        let local = tag.name.split(separator: ":").last
        return tag.attributes.contains { name, value in
          name.hasPrefix("xmlns")
            && (local == "xmpmeta" && value == "adobe:ns:meta/" || local == "RDF" && value == rdf)
        }
      default: return false
      }
    }
    return false
  }
}

extension EmbeddedMetadata {
  /// The content of a file that is pure XMP.
  static func packet(in reader: ByteReader) -> [UInt8]? {
    guard let head = reader.bytes(0..<min(8192, reader.size)), XMPPacket.isPacket(head),
      reader.size <= blockLimit
    else { return nil }
    return reader.bytes(0..<reader.size)
  }
}

/// A non-validating parser of XML tags and text.
private struct Markup {
  struct Tag {
    var name: String
    var attributes: [(String, String)] = []
    /// Whether the tag is self-closing.
    var isEmpty = false
  }

  enum Part {
    case start(Tag)
    case end
    case text(String)
  }

  private let bytes: [UInt8]
  private var at = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  mutating func next() -> Part? {
    while at < bytes.count {
      guard bytes[at] == UInt8(ascii: "<") else {
        let end = bytes[at...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        defer { at = end }
        return .text(Self.unescaped(bytes[at..<end]))
      }
      if skip("<?", to: "?>") || skip("<!--", to: "-->") { continue }
      if bytes[at...].starts(with: "<![CDATA[".utf8) {
        let start = at + 9
        guard skip("<![CDATA[", to: "]]>") else { return nil }
        return .text(String(decoding: bytes[start..<max(start, at - 3)], as: UTF8.self))
      }
      if skip("<!", to: ">") { continue }
      return tag()
    }
    return nil
  }

  private mutating func skip(_ start: String, to end: String) -> Bool {
    guard bytes[at...].starts(with: start.utf8) else { return false }
    let end = Array(end.utf8)
    var place = at + start.utf8.count
    while place + end.count <= bytes.count {
      if bytes[place] == end[0], bytes[place...].starts(with: end) {
        at = place + end.count
        return true
      }
      place += 1
    }
    at = bytes.count
    return true
  }

  private mutating func tag() -> Part? {
    at += 1
    guard at < bytes.count else { return nil }
    if bytes[at] == UInt8(ascii: "/") {
      _ = skip("/", to: ">")
      return .end
    }
    var tag = Tag(name: word())
    guard !tag.name.isEmpty else { return nil }
    while at < bytes.count {
      skipSpace()
      guard at < bytes.count else { return nil }
      switch bytes[at] {
      case UInt8(ascii: ">"):
        at += 1
        return .start(tag)
      case UInt8(ascii: "/"):
        at += 1
        tag.isEmpty = true
      default:
        let name = word()
        skipSpace()
        guard !name.isEmpty, at < bytes.count, bytes[at] == UInt8(ascii: "=") else { return nil }
        at += 1
        skipSpace()
        guard at < bytes.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(bytes[at]),
          let end = bytes[(at + 1)...].firstIndex(of: bytes[at])
        else { return nil }
        tag.attributes.append((name, Self.unescaped(bytes[(at + 1)..<end])))
        guard tag.attributes.count <= 1_000 else { return nil }
        at = end + 1
      }
    }
    return nil
  }

  private mutating func skipSpace() {
    while at < bytes.count, bytes[at] <= 0x20 { at += 1 }
  }

  private mutating func word() -> String {
    let end = bytes[at...].firstIndex { $0 <= 0x20 || "/>=<\"'".utf8.contains($0) } ?? bytes.count
    defer { at = end }
    return String(decoding: bytes[at..<end], as: UTF8.self)
  }

  private static let entities = ["lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'"]

  private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.contains("&") else { return text }
    let parts = text.split(separator: "&", omittingEmptySubsequences: false)
    return parts[0]
      + parts.dropFirst().map { part in
        let halves = part.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, let known = character(halves[0]) else { return "&" + part }
        return known + halves[1]
      }.joined()
  }

  private static func character(_ entity: Substring) -> String? {
    guard entity.hasPrefix("#") else { return entities[String(entity)] }
    let digits = entity.dropFirst()
    let number = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
    return number.flatMap(Unicode.Scalar.init).map { String(Character($0)) }
  }
}

extension String {
  var trimmed: String {
    guard let first = firstIndex(where: { !$0.isWhitespace }),
      let last = lastIndex(where: { !$0.isWhitespace })
    else { return "" }
    return String(self[first...last])
  }
}
