import Containers
import Fixtures
import Foundation
import PipelineModel
import PipelinePlugin
import Testing
import Vips

/// What identify finds by walking containers, on files that are written byte by byte.
@Suite("Containers", .timeLimit(.minutes(2)))
struct ContainerTests {
  let run: PluginRun

  init() throws { run = try PluginRun("identify") }

  // MARK: - Tags

  @Test("Of a TIFF's tag that is there twice, the first counts, even if it is invalid")
  func doubledTags() throws {
    func entry(_ tag: Int, _ type: Int, _ value: Int) -> [UInt8] {
      TIFFTags.number(tag, 2) + TIFFTags.number(type, 2) + TIFFTags.number(1, 4)
        + TIFFTags.number(value, 4)
    }
    let bytes =
      Array("II*\0".utf8) + TIFFTags.number(8, 4) + TIFFTags.number(4, 2)
      + entry(258, 3, 8) + entry(258, 3, 12) + entry(262, 99, 1) + entry(262, 3, 2) + [0, 0, 0, 0]
    let tags = try #require(TagReader(ByteReader(bytes)))
    let page = try #require(tags.directory(at: tags.first))
    #expect(tags.integer(258, in: page) == 8 && tags.integer(262, in: page) == nil)
  }

  // MARK: - Turning

  @Test("A HEIC whose meta box is behind a megabyte is turned once", arguments: [3, 6, 8])
  func lateMeta(orientation: Int) throws {
    let bytes = try Pictures.heic(
      width: 320, height: 240, orientation: orientation, exif: true, container: true)
    let facts = try run.facts(Self.movingMeta(of: bytes, by: (1 << 20) + 4096))
    #expect(facts["orientation"] == 1)
    #expect(facts["width"] == 320 && facts["height"] == 240)
    #expect(facts["capturedAt"] == "2024-05-06T07:08:09")
  }

  /// Puts a box that is to be skipped in front of `meta`, and moves what `iloc` says with it.
  static func movingMeta(of bytes: [UInt8], by length: Int) throws -> [UInt8] {
    let name = try #require(bytes.indices.first { bytes[$0...].starts(with: "iloc".utf8) })
    var bytes = bytes
    var at = name + 4
    func next(_ size: Int) -> Int {
      defer { at += size }
      return bytes[at..<(at + size)].reduce(0) { $0 << 8 | Int($1) }
    }
    let version = next(1)
    _ = next(3)
    let sizes = next(2)
    let index = version == 0 ? 0 : sizes & 15
    for _ in 0..<next(version < 2 ? 2 : 4) {
      _ = next(version < 2 ? 2 : 4)
      let method = version == 0 ? 0 : next(2)
      _ = next(2 + (sizes >> 4 & 15))
      for _ in 0..<next(2) {
        _ = next(index)
        let place = at
        let offset = next(sizes >> 12)
        if method == 0 { bytes.replaceSubrange(place..<at, with: big(offset + length, at - place)) }
        _ = next(sizes >> 8 & 15)
      }
    }
    let start = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
    let free = big(length, 4) + Array("free".utf8) + [UInt8](repeating: 0, count: length - 8)
    return Array(bytes[..<start]) + free + bytes[start...]
  }

  @Test("A PNG is turned as its EXIF says", arguments: 1...8)
  func turnedPNG(orientation: Int) throws {
    let block = Array(PicturesExif(orientation: orientation).bytes.dropFirst(6))
    let facts = try run.facts(try png([("eXIf", block)]))
    #expect(facts["orientation"] == .integer(orientation))
    #expect(facts["width"] == (orientation > 4 ? 24 : 32))
  }

  // MARK: - The time of capture

  @Test("The time of capture has the first source that knows it, and says which")
  func sources() throws {
    var sample = MetadataSample()
    func expect(_ time: JSONValue?, _ source: JSONValue?) throws {
      let facts = try run.facts(try sample.jpeg())
      #expect(facts["capturedAt"] == time && facts["capturedFrom"] == source, "\(facts)")
    }
    sample.gps = [
      .text(29, "2001:01:01"), .rational(7, (10, 1), (2, 1), (3, 1)),
    ]
    try expect("2001-01-01T10:02:03Z", "gps:GPSDateStamp")
    sample.iptc = [(55, Array("20020202".utf8))]
    try expect("2001-01-01T10:02:03Z", "gps:GPSDateStamp")
    sample.iptc.append((60, Array("120000+0200".utf8)))
    try expect("2002-02-02T12:00:00+02:00", "iptc:DateCreated")
    sample.xmp = "<xmp:CreateDate>2003-03-03T12:00</xmp:CreateDate>"
    try expect("2003-03-03T12:00:00", "xmp:xmp:CreateDate")
    sample.namespaces =
      "xmlns:ps='http://ns.adobe.com/photoshop/1.0/' ps:DateCreated='2004-04-04T01:02:03Z'"
    try expect("2004-04-04T01:02:03Z", "xmp:photoshop:DateCreated")
    sample.photo = [.text(0x9004, "2005:05:05 05:05:05"), .text(0x9012, "+01:00")]
    try expect("2005-05-05T05:05:05+01:00", "exif:DateTimeDigitized")
    sample.photo.append(.text(0x9003, "0000:00:00 00:00:00"))
    try expect("2005-05-05T05:05:05+01:00", "exif:DateTimeDigitized")
    sample.photo[sample.photo.count - 1] = .text(0x9003, "2006:06:06 06:06:06")
    try expect("2006-06-06T06:06:06", "exif:DateTimeOriginal")
  }

  @Test("Where nobody knows the time, a day is given alone")
  func dayAlone() throws {
    var sample = MetadataSample()
    sample.iptc = [(55, Array("20020202".utf8))]
    let facts = try run.facts(try sample.jpeg())
    #expect(facts["capturedAt"] == "2002-02-02" && facts["capturedFrom"] == "iptc:DateCreated")
  }

  @Test("PNG's own texts and chunk tell the time")
  func pngTimes() throws {
    let changed = ("tIME", big(2024, 2) + [5, 6, 7, 8, 9])
    var facts = try run.facts(try png([changed]))
    #expect(facts["capturedAt"] == "2024-05-06T07:08:09Z" && facts["capturedFrom"] == "png:tIME")
    for (text, wanted) in [
      ("Mon, 06 May 2024 07:08:09 +0200", "2024-05-06T07:08:09+02:00"),
      ("Mon May  6 07:08:09 2024", "2024-05-06T07:08:09"),
      ("2024-05-06T07:08:09.5+02:00", "2024-05-06T07:08:09.5+02:00"),
    ] {
      facts = try run.facts(
        try png([changed, ("tEXt", Array("Creation Time\0\(text)".utf8))]))
      #expect(facts["capturedAt"] == .string(wanted))
      #expect(facts["capturedFrom"] == "png:Creation Time")
    }
  }

  @Test("Films tell the time, and what a clock says that was never set is none")
  func films() throws {
    func movie(_ seconds: Int, _ more: [UInt8] = []) -> [UInt8] {
      let header = [0, 0, 0, 0] + big(seconds, 4) + [UInt8](repeating: 0, count: 92)
      return box("ftyp", Array("qt  ".utf8) + [0, 0, 0, 0])
        + box("mdat", [UInt8](repeating: 7, count: 2 << 20))
        + box("moov", box("mvhd", header) + more)
    }
    var facts = try run.facts(movie(3_600_000_000))
    #expect(facts["mediaType"] == "video/quicktime")
    #expect(facts["capturedAt"] == "2018-01-28T16:00:00Z")
    #expect(facts["capturedFrom"] == "quicktime:mvhd")
    #expect(try run.facts(movie(0))["capturedAt"] == nil)
    #expect(try run.facts(movie(2_082_844_800))["capturedAt"] == nil)
    let name = "com.apple.quicktime.creationdate"
    let keys = [0, 0, 0, 0] + big(1, 4) + box("mdta", Array(name.utf8))
    let value = box("data", big(1, 4) + big(0, 4) + Array("2018-01-28T17:00:00+0100".utf8))
    let list = box("keys", keys) + box("ilst", big(value.count + 8, 4) + big(1, 4) + value)
    facts = try run.facts(movie(3_600_000_000, box("meta", list)))
    #expect(facts["capturedAt"] == "2018-01-28T17:00:00+01:00")
    #expect(facts["capturedFrom"] == .string("quicktime:\(name)"))
  }

  @Test("An AVI tells the time")
  func avi() throws {
    func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
      Array(type.utf8) + big(content.count, 4).reversed() + content
        + [UInt8](repeating: 0, count: content.count % 2)
    }
    let header = chunk(
      "LIST", Array("hdrl".utf8) + chunk("IDIT", Array("Mon May  6 07:08:09 2024\n\0".utf8)))
    let content = Array("AVI ".utf8) + header
    let facts = try run.facts(chunk("RIFF", content))
    #expect(facts["mediaType"] == "video/x-msvideo")
    #expect(facts["capturedAt"] == "2024-05-06T07:08:09" && facts["capturedFrom"] == "riff:IDIT")
  }

  @Test("The name tells the time where a pattern is given, after all that the file says")
  func name() throws {
    let options: JSONValue = ["capturedFromName": ["IMG_{yyyy}{MM}{dd}_{HH}{mm}{ss}*"]]
    let plain = try Pictures.jpeg(width: 16, height: 12, exif: nil)
    func facts(_ bytes: [UInt8], _ name: String, _ options: JSONValue) throws -> JSONValue {
      let result = try run.process(bytes, options: options, subject: name)
      guard case .done(let facts, _) = result else { throw Unexpected("\(result)") }
      return facts
    }
    let found = try facts(plain, "img_20240506_070809~2.jpg", options)
    #expect(found["capturedAt"] == "2024-05-06T07:08:09" && found["capturedFrom"] == "name")
    #expect(try facts(plain, "IMG_20241306_070809.jpg", options)["capturedAt"] == nil)
    #expect(try facts(plain, "DSC_20240506_070809.jpg", options)["capturedAt"] == nil)
    #expect(try facts(plain, "IMG_20240506_070809.jpg", [:])["capturedAt"] == nil)
    let dated = try Pictures.jpeg(width: 16, height: 12)
    #expect(
      try facts(dated, "IMG_20200506_070809.jpg", options)["capturedFrom"]
        == "exif:DateTimeOriginal")
    let failure = #expect(throws: PluginFailure.self) {
      try run.backend.makeInstance(options: ["capturedFromName": ["{yyyy}-{MM}"]])
    }
    #expect(failure?.class == .environment)
    // Digits that are no date are passed over.
    let anywhere: JSONValue = ["capturedFromName": ["*{yyyy}{MM}{dd}*"]]
    #expect(
      try facts(plain, "12345678_20240506.jpg", anywhere)["capturedAt"] == "2024-05-06")
  }

  // MARK: - Depth and frames

  @Test("Depth is that of the file, not that of its decoder", arguments: [1, 2, 4])
  func shallow(bits: Int) throws {
    let grey = try Pictures.plain([90], width: 16, height: 12)
    let facts = try run.facts(try Pictures.file(grey, ".tif[bitdepth=\(bits)]"))
    #expect(facts["bitDepth"] == .integer(bits))
  }

  @Test("Frames of an animated PNG are counted")
  func animatedPNG() throws {
    let facts = try run.facts(try png([("acTL", big(5, 4) + big(0, 4))]))
    #expect(facts["pages"] == 5)
  }

  @Test("Pictures of a multi-picture JPEG are counted where its index says, in both byte orders")
  func multiplePictures() throws {
    let first = try Pictures.jpeg(width: 40, height: 30)
    let second = try Pictures.jpeg(width: 20, height: 30)
    /// A file with an index, which lists the pictures behind it, or places without any.
    func file(_ others: [[UInt8]], shift: Int = 0, little: Bool = false) -> [UInt8] {
      func number(_ value: Int, _ count: Int) -> [UInt8] {
        little ? big(value, count).reversed() : big(value, count)
      }
      let entries = (others.count + 1) * 16
      // From the index on: a header, a directory of three tags, and the entries.
      let length = 8 + 2 + 3 * 12 + 4 + entries
      // From the beginning of the file to the index.
      let start = 2 + 4 + 4
      var listed = number(0x0003_0000, 4) + number(first.count + length + 8, 4) + number(0, 8)
      var at = first.count + length + 8 - start + shift
      for other in others {
        listed += number(0x0002_0002, 4) + number(other.count, 4) + number(at, 4) + number(0, 4)
        at += other.count
      }
      func tag(_ tag: Int, _ type: Int, _ count: Int, _ value: [UInt8]) -> [UInt8] {
        number(tag, 2) + number(type, 2) + number(count, 4) + value
      }
      let index =
        Array((little ? "II" : "MM").utf8) + number(42, 2) + number(8, 4) + number(3, 2)
        + tag(0xB000, 7, 4, Array("0100".utf8)) + tag(0xB001, 4, 1, number(others.count + 1, 4))
        + tag(0xB002, 7, entries, number(length - entries, 4)) + number(0, 4) + listed
      let segment = Array("MPF\0".utf8) + index
      return first[..<2] + [0xFF, 0xE2] + big(segment.count + 2, 2) + segment + first[2...]
        + others.flatMap(\.self)
    }
    for little in [false, true] {
      #expect(try run.facts(file([second, first], little: little))["pictures"] == 3)
    }
    #expect(try run.facts(file([second]))["mediaType"] == "image/jpeg")
    #expect(try run.facts(file([second]))["pages"] == 1)
    // Places where none is, and no others.
    for shift in [5, -5] {
      #expect(try run.facts(file([second], shift: shift))["pictures"] == nil)
    }
    #expect(try run.facts(Array(file([second]).dropLast(100)))["pictures"] == nil)
    #expect(try run.facts(file([]))["pictures"] == nil)
    #expect(try run.facts(first)["pictures"] == nil)
    let thumbnail = try PluginRun("thumbnail").thumbnail(file([second]), maxPixelSize: 20)
    #expect(thumbnail.picture.width == 20 && thumbnail.picture.height == 15)
    #expect(thumbnail.rendition.from == "image")
  }

  // MARK: - Types

  @Test("A picture with XMP near its beginning is a picture, and a sidecar in UTF-16 is one")
  func signaturesBeforeText() throws {
    let packet = """
      <?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>\
      <rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/></x:xmpmeta>
      """
    let files: [(JSONValue, [UInt8])] = [
      ("image/tiff", IdentifyTests.raw(make: packet, tags: [])),
      ("application/pdf", Array("%PDF-1.4\n\(packet)".utf8)),
      ("image/x-xcf", Array("gimp xcf v011\0\(packet)".utf8)),
      ("application/rdf+xml", Array(packet.utf8)),
      ("application/rdf+xml", Array("\u{FEFF}<?xml version='1.0'?>\n<!-- x -->\(packet)".utf8)),
      ("application/rdf+xml", packet.utf16.flatMap { big(Int($0), 2) }),
      ("application/rdf+xml", ("\u{FEFF}" + packet).utf16.flatMap { big(Int($0), 2) }),
      ("application/rdf+xml", packet.utf16.flatMap { big(Int($0), 2).reversed() }),
      ("application/rdf+xml", ("\u{FEFF}" + packet).utf16.flatMap { big(Int($0), 2).reversed() }),
    ]
    for (type, bytes) in files { #expect(try run.facts(bytes)["mediaType"] == type) }
  }

  @Test("A film is one by its first box, also if it ends before its header; a picture is none")
  func firstBoxes() {
    func isFilm(_ bytes: [UInt8]) -> Bool { EmbeddedMetadata(ByteReader(bytes)).isFilm }
    for bytes in [
      box("ftyp", Array("qt  ".utf8)) + box("mdat", [0, 0, 0, 0]),
      box("ftyp", Array("isom".utf8)) + Array(box("mdat", [0, 0, 0, 0]).prefix(9)),
      box("wide", []) + box("mdat", [0, 0, 0, 0]),
    ] { #expect(isFilm(bytes)) }
    for brand in ["heic", "crx ", "jp2 "] {
      #expect(!isFilm(box("ftyp", Array(brand.utf8)) + box("mdat", [0, 0, 0, 0])), "\(brand)")
    }
  }

  @Test("What boxes, chunks and segments say of themselves never takes long or traps")
  func hostile() throws {
    let many = (0..<100_000).flatMap { _ in box("free", []) }
    let deep = (0..<200).reduce([UInt8]()) { inner, _ in box("meta", inner) }
    for bytes in [
      box("ftyp", Array("heic".utf8)) + many,
      box("ftyp", Array("heic".utf8)) + deep,
      box("ftyp", Array("qt  ".utf8)) + big(1, 4) + Array("moov".utf8) + big(-1, 8),
      Array("RIFF".utf8) + [0xFF, 0xFF, 0xFF, 0xFF] + Array("AVI LIST".utf8)
        + [UInt8](
          repeating: 0xFF, count: 64),
      [0x89] + Array("PNG\r\n\u{1A}\n".utf8) + [UInt8](repeating: 0xFF, count: 64),
      Array("II".utf8) + [43, 0, 8, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 64),
      Array("8BPS\0\u{1}".utf8) + [UInt8](repeating: 0xFF, count: 64),
      Array("GIF89a".utf8) + [UInt8](repeating: 0xFF, count: 64),
    ] {
      _ = try run.facts(bytes)
    }
  }
}

/// A number in big-endian order.
private func big(_ value: Int, _ size: Int) -> [UInt8] {
  (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * (size - 1 - $0))) }
}

/// A box of an ISO base media file.
private func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
  big(content.count + 8, 4) + Array(type.utf8) + content
}

/// A small PNG with more chunks before its pixels.
func png(_ chunks: [(type: String, content: [UInt8])]) throws -> [UInt8] {
  let bytes = try Pictures.file(try Pictures.picture(width: 32, height: 24), ".png[strip]")
  let more = chunks.flatMap { chunk -> [UInt8] in
    let body = Array(chunk.type.utf8) + chunk.content
    // The polynomial of the standard, annex D.
    var sum: UInt32 = 0xFFFF_FFFF
    for byte in body {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
    return big(chunk.content.count, 4) + body + big(Int(~sum), 4)
  }
  return Array(bytes[..<33]) + more + bytes[33...]
}
