import Fixtures

/// A JPEG whose metadata are written byte by byte, so that no library's opinion is in them.
///
/// Sources: TIFF 6.0, section 2; EXIF 2.32, section 4.6; IPTC IIM 4.2, section 1.6;
/// XMP part 3, section 1.1.3.
struct MetadataSample {
  /// One entry of a directory, in little-endian order.
  struct Entry: Sendable {
    let tag: Int
    let type: Int
    let count: Int
    let value: [UInt8]

    /// Any entry, right or wrong.
    init(_ tag: Int, type: Int, count: Int, _ value: [UInt8]) {
      (self.tag, self.type, self.count, self.value) = (tag, type, count, value)
    }

    static func text(_ tag: Int, _ text: String) -> Entry { bytes(tag, Array(text.utf8) + [0]) }
    static func bytes(_ tag: Int, _ text: [UInt8]) -> Entry {
      Entry(tag, type: 2, count: text.count, text)
    }
    static func undefined(_ tag: Int, _ value: [UInt8]) -> Entry {
      Entry(tag, type: 7, count: value.count, value)
    }
    static func byte(_ tag: Int, _ value: [UInt8]) -> Entry {
      Entry(tag, type: 1, count: value.count, value)
    }
    static func short(_ tag: Int, _ values: Int...) -> Entry {
      Entry(tag, type: 3, count: values.count, values.flatMap { little($0, 2) })
    }
    static func rational(_ tag: Int, _ values: (Int, Int)...) -> Entry {
      Entry(tag, type: 5, count: values.count, values.flatMap { little($0.0, 4) + little($0.1, 4) })
    }
    static func signedRational(_ tag: Int, _ top: Int, _ bottom: Int) -> Entry {
      Entry(tag, type: 10, count: 1, little(top, 4) + little(bottom, 4))
    }
  }

  /// Entries of the first directory.
  var image: [Entry] = []
  /// Entries of EXIF's directory.
  var photo: [Entry] = []
  /// Entries of the directory of the place.
  var gps: [Entry] = []
  /// Datasets of IPTC's second record: number and bytes.
  var iptc: [(Int, [UInt8])] = []
  /// What stands in `rdf:Description` of XMP, and its namespaces.
  var xmp = ""
  /// Namespaces beside the usual ones, as attributes.
  var namespaces = ""

  /// A place: three rationals each, with the refs.
  static func place(
    _ latitude: [(Int, Int)], _ north: String, _ longitude: [(Int, Int)], _ east: String
  ) -> [Entry] {
    func entry(_ tag: Int, _ values: [(Int, Int)]) -> Entry {
      Entry(
        tag, type: 5, count: values.count, values.flatMap { little($0.0, 4) + little($0.1, 4) })
    }
    return [.text(1, north), entry(2, latitude), .text(3, east), entry(4, longitude)]
  }

  /// A small JPEG with all of this.
  func jpeg() throws -> [UInt8] {
    var bytes = try Pictures.jpeg(width: 16, height: 12, exif: nil)
    if !xmp.isEmpty {
      bytes = Pictures.insert(Array("http://ns.adobe.com/xap/1.0/\0".utf8) + packet, into: bytes)
    }
    if !iptc.isEmpty { bytes = Self.insert(0xED, photoshop, into: bytes) }
    if !(image + photo + gps).isEmpty {
      bytes = Pictures.insert(Array("Exif\0\0".utf8) + tiff, into: bytes)
    }
    return bytes
  }

  /// The EXIF block without its prefix.
  var tiff: [UInt8] {
    var bytes = Array("II".utf8) + little(42, 2) + little(8, 4)
    let children = [(0x8769, photo), (0x8825, gps)].filter { !$0.1.isEmpty }
    let pointers = children.map { Entry($0.0, type: 4, count: 1, little(0, 4)) }
    let places = Self.append(image + pointers, to: &bytes)
    for (tag, entries) in children {
      if let place = places[tag] {
        bytes.replaceSubrange(place..<(place + 4), with: little(bytes.count, 4))
      }
      Self.append(entries, to: &bytes)
    }
    return bytes
  }

  /// Appends a directory; returns where the value of each tag stands.
  @discardableResult
  private static func append(_ entries: [Entry], to bytes: inout [UInt8]) -> [Int: Int] {
    let start = bytes.count + 2
    bytes += little(entries.count, 2) + [UInt8](repeating: 0, count: entries.count * 12 + 4)
    var places: [Int: Int] = [:]
    for (index, entry) in entries.sorted(by: { $0.tag < $1.tag }).enumerated() {
      var field = little(entry.tag, 2) + little(entry.type, 2) + little(entry.count, 4)
      if entry.value.count > 4 {
        field += little(bytes.count, 4)
        bytes += entry.value
        if !bytes.count.isMultiple(of: 2) { bytes.append(0) }
      } else {
        field += entry.value + [UInt8](repeating: 0, count: 4 - entry.value.count)
      }
      let place = start + index * 12
      bytes.replaceSubrange(place..<(place + 12), with: field)
      places[entry.tag] = place + 8
    }
    return places
  }

  private var photoshop: [UInt8] {
    var sets: [UInt8] = []
    for (number, value) in iptc {
      sets += [0x1C, 2, UInt8(number), UInt8(value.count >> 8), UInt8(value.count & 255)]
      sets += value
    }
    var block = Array("Photoshop 3.0\u{0}8BIM".utf8) + [4, 4, 0, 0]
    block += (0..<4).map { UInt8(truncatingIfNeeded: sets.count >> (8 * (3 - $0))) }
    block += sets
    if !sets.count.isMultiple(of: 2) { block.append(0) }
    return block
  }

  private var packet: [UInt8] {
    Array(
      """
      <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">\
      <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description \
      rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" \
      xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:exif="http://ns.adobe.com/exif/1.0/" \
      xmlns:xmpMM="http://ns.adobe.com/xap/1.0/mm/" \
      xmlns:stEvt="http://ns.adobe.com/xap/1.0/sType/ResourceEvent#" \
      xmlns:xmpRights="http://ns.adobe.com/xap/1.0/rights/" \(namespaces)>\(xmp)\
      </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>
      """.utf8)
  }

  private static func insert(_ marker: UInt8, _ segment: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
    let length = segment.count + 2
    let head: [UInt8] = [0xFF, marker, UInt8(length >> 8), UInt8(length & 255)]
    return Array(jpeg[..<2]) + head + segment + Array(jpeg[2...])
  }
}

/// A number in little-endian order.
private func little(_ value: Int, _ size: Int) -> [UInt8] {
  (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
}
