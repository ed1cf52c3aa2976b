import Fixtures
import Foundation
import PictureDecoding
import PipelineModel
import PipelinePlugin
import Testing
import Vips

@Suite("Identify", .timeLimit(.minutes(2)))
struct IdentifyTests {
  let run: PluginRun

  init() throws { run = try PluginRun("identify") }

  @Test("Types come from content, whatever the name")
  func types() throws {
    let picture = try Pictures.picture(width: 60, height: 40)
    let files: [(JSONValue, [UInt8])] = [
      ("image/jpeg", try Pictures.file(picture, ".jpg")),
      ("image/png", try Pictures.file(picture, ".png")),
      ("image/webp", try Pictures.file(picture, ".webp")),
      ("image/gif", try Pictures.file(picture, ".gif")),
      ("image/tiff", try Pictures.file(picture, ".tif")),
      ("image/tiff", try Pictures.file(picture, ".tif[bigtiff]")),
      ("image/heic", try Pictures.file(picture, ".heic")),
      ("image/avif", try Pictures.file(picture, ".heic[compression=av1]")),
    ]
    for (type, bytes) in files {
      let facts = try run.facts(bytes, name: "misleading.txt")
      #expect(facts["mediaType"] == type)
      #expect(facts["width"] == 60 && facts["height"] == 40)
      #expect(facts["orientation"] == 1 && facts["problem"] == nil)
    }
  }

  @Test("Other kinds are named, measured and found whole, and the table knows their names")
  func otherKinds() throws {
    for kind in try Pictures.kinds() {
      let facts = try run.facts(kind.bytes, name: "misleading.txt")
      #expect(facts["mediaType"] == .string(kind.mediaType), "\(kind.name)")
      #expect(facts["width"] == 160 && facts["height"] == 120, "\(kind.name)")
      #expect(facts["pages"] == 1 && facts["problem"] == nil, "\(kind.name)")
      #expect(facts["orientation"] == (kind.name == "PFM" ? 4 : 1), "\(kind.name)")
      #expect(facts["decodeBytes"]?["streamed"]?.integer ?? 0 > 1 << 20, "\(kind.name)")
      let entry = try #require(DecoderTable.entry(for: MediaType(rawValue: kind.mediaType)))
      #expect(entry.decoder == .libvips, "\(kind.name)")
    }
  }

  @Test("Every type of pictures and raw files in the table is the name of a file's content")
  func tableTypes() throws {
    let picture = try Pictures.picture(width: 16, height: 16)
    var files = try Pictures.kinds().map(\.bytes)
    for suffix in [".jpg", ".png", ".webp", ".gif", ".tif", ".heic", ".heic[compression=av1]"] {
      files.append(try Pictures.file(picture, suffix))
    }
    for brands in ["mif1", "hevc", "msf1", "jpx ", "crx "] { files.append(Self.box(brands)) }
    let makers = [
      "NIKON", "SONY", "PENTAX", "SAMSUNG", "HASSELBLAD", "EPSON", "KODAK", "MAMIYA", "LEAF",
      "PHASE ONE", "OLYMPUS", "CANON", "PANASONIC", "NOBODY",
    ]
    for maker in makers { files.append(Self.raw(make: maker, tags: [(0x0106, 3, 32803)])) }
    files.append(Self.raw(make: "Pixel", tags: [(0xC612, 1, 0x0104_0000)]))
    files += ["FUJIFILMCCD-RAW", "\0MRM", "FOVb", "II\u{1A}\0\0\0HEAPCCDR"].map { Array($0.utf8) }
    let found = Set(try files.map { try run.facts($0)["mediaType"]?.string ?? "none" })
    let listed = DecoderTable.entries.filter { [.libvips, .library("raw")].contains($0.decoder) }
      .flatMap(\.types)
    // Kodak's files with that name don't differ from its others.
    #expect(Set(listed).subtracting(found) == ["image/x-kodak-kdc"])
    #expect(found.subtracting(listed) == [])
  }

  @Test("One kind has one name, however it is written")
  func spellings() throws {
    let rect = "<rect width=\"9\" height=\"9\"/>"
    let svg = String(decoding: Pictures.svg(rect, size: "width=\"9\" height=\"9\""), as: UTF8.self)
    let cases: [(String, [UInt8])] = [
      ("image/x-portable-bitmap", Array("P1\n4 2\n1 0 1 0\n0 1 0 1\n".utf8)),
      ("image/x-portable-greymap", Array("P2\n2 1\n255\n1 2\n".utf8)),
      ("image/x-portable-pixmap", Array("P3\n1 1\n255\n1 2 3\n".utf8)),
      (
        "image/x-portable-floatmap",
        Pictures.floatMap(width: 2, height: 1, bands: 1) { _, _, _ in 1 }
      ),
      ("image/svg+xml", Array(svg.utf8)),
      ("image/svg+xml", Array(svg.drop { $0 != "\n" }.dropFirst().utf8)),
      ("image/svg+xml", [0xEF, 0xBB, 0xBF] + Array(svg.utf8)),
      ("image/svg+xml", Array("<!-- made by hand -->\n\(svg.drop { $0 != "\n" })".utf8)),
      (
        "application/pdf",
        Array("junk\r\n".utf8) + Pictures.pdf(pages: [Pictures.Page(("10", "10"), "")])
      ),
    ]
    for (type, bytes) in cases {
      let facts = try run.facts(bytes)
      #expect(
        facts["mediaType"] == .string(type), "\(String(decoding: bytes.prefix(40), as: UTF8.self))")
      #expect(facts["width"]?.integer ?? 0 > 0 && facts["problem"] == nil, "\(type)")
    }
  }

  @Test("Pictures that are C source are told from other texts")
  func sources() throws {
    let size = "#define a_width 8\n#define a_height 1\n"
    let pixels = " = {\n\"1 1 1 1\",\n\"a c blue\",\n\"a\"\n};\n"
    for (type, text) in [
      ("image/x-xbitmap", size + "static const unsigned char a_bits[] = { 1 };\n"),
      ("image/x-xpixmap", "/* XPM */\nstatic char *a[]" + pixels),
      ("image/x-xpixmap", "/* XPM */\nstatic char *a" + pixels),
      ("image/x-xpixmap", "/*XPM*/\nstatic const char * const a[]" + pixels),
      ("text/plain", "/* XPM */ begins a file of this kind.\n"),
      ("text/plain", "static char *a" + pixels),
    ] {
      #expect(try run.facts(Array(text.utf8))["mediaType"] == .string(type), "\(text)")
    }
  }

  @Test("What is not decoded here is still named", arguments: Self.foreign)
  func foreignTypes(sample: Foreign) throws {
    let facts = try run.facts(sample.bytes, name: "a.jpg")
    #expect(facts["mediaType"] == .string(sample.type))
    #expect(facts["decodeBytes"] == nil)
  }

  struct Foreign: Sendable, CustomTestStringConvertible {
    let type: String
    let bytes: [UInt8]
    var testDescription: String { type }
    init(_ type: String, _ bytes: [UInt8]) { (self.type, self.bytes) = (type, bytes) }
  }

  static func box(_ brands: String) -> [UInt8] {
    let length = 8 + 4 + 4 + (brands.utf8.count - 4)
    var bytes: [UInt8] = [0, 0, 0, UInt8(length)] + Array("ftyp".utf8)
    bytes += Array(brands.utf8.prefix(4)) + [0, 0, 0, 0] + Array(brands.utf8.dropFirst(4))
    return bytes + [UInt8](repeating: 0, count: 64)
  }

  static let foreign: [Foreign] = [
    Foreign("video/mp4", box("isomiso2avc1mp41")), Foreign("video/mp4", box("mp42isom")),
    Foreign("video/quicktime", box("qt  ")), Foreign("video/3gpp", box("3gp5isom")),
    Foreign("audio/mp4", box("M4A isom")), Foreign("image/x-canon-cr3", box("crx isom")),
    Foreign("video/mp2t", (0..<8).flatMap { _ in [0x47] + [UInt8](repeating: 1, count: 187) }),
    Foreign(
      "video/mp2t", (0..<8).flatMap { _ in [0, 0, 0, 0, 0x47] + [UInt8](repeating: 1, count: 187) }),
    Foreign("video/mp2t", (0..<8).flatMap { _ in [0x47] + [UInt8](repeating: 1, count: 203) }),
    Foreign("text/plain", Array("The free software of this list may be copied by all.\n".utf8)),
    Foreign("text/plain", Array("And skip the rest of what is written here.\n".utf8)),
    Foreign(
      "video/quicktime", [0, 0, 0, 8] + Array("free".utf8) + [0, 0, 0, 8] + Array("moov".utf8)),
    Foreign(
      "image/vnd.adobe.photoshop", Array("8BPS\0\u{1}".utf8) + [UInt8](repeating: 0, count: 6)),
    Foreign(
      "image/x-canon-cr2",
      [0x49, 0x49, 42, 0, 16, 0, 0, 0] + Array("CR\u{2}\0".utf8) + [0, 0, 0, 0, 0, 0]),
    Foreign("image/avif", box("avisavismif1")), Foreign("image/avif", box("avisavifmsf1")),
    Foreign("image/avif-sequence", box("avisavismsf1miafMA1B")),
    Foreign("image/x-phaseone-iiq", [0x49, 0x49, 42, 0, 16, 0, 0, 0] + Array("IIIICwaR".utf8)),
    // Pixels may begin there, all of one value.
    Foreign("image/tiff", [0x49, 0x49, 42, 0, 16, 0, 0, 0] + Array("IIIIIIII".utf8)),
    Foreign("image/tiff", [0x4D, 0x4D, 0, 42, 0, 0, 0, 16] + Array("MMMMMMMM".utf8)),
    Foreign("image/x-phaseone-iiq", [0x4D, 0x4D, 0, 42, 0, 0, 0, 16] + Array("MMMMRawC".utf8)),
    Foreign("image/x-fuji-raf", Array("FUJIFILMCCD-RAW 0201FF383501".utf8)),
    Foreign("image/x-panasonic-rw2", Array("IIU\0".utf8) + [8, 0, 0, 0, 0, 0]),
    Foreign("image/x-olympus-orf", Array("IIRO".utf8) + [8, 0, 0, 0, 0, 0]),
    Foreign("image/x-adobe-dng", raw(make: "Pixel", tags: [(0xC612, 1, 0x0104_0000)])),
    Foreign("image/x-nikon-nef", raw(make: "NIKON CORPORATION", tags: [(0x0106, 3, 32803)])),
    Foreign("image/x-sony-arw", raw(make: "SONY", tags: [(0x0103, 3, 32767)])),
    Foreign("image/x-raw", raw(make: "Nobody", tags: [(0x0106, 3, 32803)])),
    Foreign(
      "image/bmp",
      Array("BA".utf8) + [40, 0, 0, 0] + [UInt8](repeating: 0, count: 8) + Array("BM".utf8)
        + [UInt8](repeating: 0, count: 24)),
    Foreign("application/pdf", Array("%PDF-1.4\n%âãÏÓ\n1 0 obj\n".utf8)),
    Foreign(
      "image/svg+xml",
      Array("<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8)),
    Foreign(
      "text/plain",
      Array(
        ("All PDF files, as the page says: " + String(repeating: "they ", count: 60)
          + "begin with the bytes %PDF-1.4.\n").utf8)),
    Foreign(
      "application/rdf+xml",
      Array(
        "<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'/>"
          .utf8)),
    Foreign("text/plain", Array("Nothing but text, in several words.\n".utf8)),
    Foreign("application/octet-stream", [0xF3, 0x9A, 0x01, 0x88, 0x00, 0xFE, 0xC1, 0x9F, 0x11]),
    Foreign("application/octet-stream", []),
  ]

  /// A big-endian TIFF whose first directory has a maker and some more tags of one value.
  static func raw(make: String, tags: [(tag: UInt16, type: UInt16, value: UInt32)]) -> [UInt8] {
    func big(_ value: Int, _ size: Int) -> [UInt8] {
      (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * (size - 1 - $0))) }
    }
    let text = Array(make.utf8) + [0, 0, 0, 0, 0]
    var bytes = Array("MM".utf8) + big(42, 2) + big(8 + text.count, 4) + text
    bytes += big(tags.count + 1, 2)
    bytes += big(0x010F, 2) + big(2, 2) + big(text.count, 4) + big(8, 4)
    for (tag, type, value) in tags {
      bytes += big(Int(tag), 2) + big(Int(type), 2) + big(type == 1 ? 4 : 1, 4)
      bytes += type == 3 ? big(Int(value), 2) + [0, 0] : big(Int(value), 4)
    }
    return bytes + big(0, 4)
  }

  @Test("Width and height are as displayed", arguments: 1...8)
  func displayedSize(orientation: Int) throws {
    let bytes = try Pictures.jpeg(
      width: 120, height: 80, exif: PicturesExif(orientation: orientation))
    let facts = try run.facts(bytes)
    #expect(facts["width"] == 120 && facts["height"] == 80)
    #expect(facts["orientation"] == .integer(orientation))
  }

  @Test("The time of capture has a zone only where the file names one")
  func capturedAt() throws {
    let cases: [(PicturesExif, JSONValue?)] = [
      (PicturesExif(), "2024-05-06T07:08:09"),
      (PicturesExif(subSecond: "25"), "2024-05-06T07:08:09.25"),
      (PicturesExif(subSecond: "250 ", offset: "+02:00"), "2024-05-06T07:08:09.250+02:00"),
      (PicturesExif(offset: "   :  "), "2024-05-06T07:08:09"),
      (PicturesExif(offset: "+99:00"), "2024-05-06T07:08:09"),
      (PicturesExif(dateTimeOriginal: "0000:00:00 00:00:00"), nil),
      (PicturesExif(dateTimeOriginal: "2023:02:29 10:00:00"), nil),
      (PicturesExif(dateTimeOriginal: "2024:02:29 10:00:00"), "2024-02-29T10:00:00"),
      (PicturesExif(dateTimeOriginal: "    :  :     :  :  "), nil),
      (PicturesExif(dateTimeOriginal: "2024:05:06"), "2024-05-06"),
      (PicturesExif(dateTimeOriginal: nil), nil),
    ]
    for (exif, wanted) in cases {
      let facts = try run.facts(try Pictures.jpeg(width: 40, height: 30, exif: exif))
      #expect(facts["capturedAt"] == wanted)
    }
  }

  @Test("Colours, depth, alpha and pages are told")
  func colors() throws {
    let plain = try Pictures.plain([200, 80, 40])
    let p3 = try run.facts(try Pictures.profiled(plain, "p3", as: ".jpg"))
    #expect(p3["colorSpace"] == "p3" && p3["iccProfile"]?.string?.isEmpty == false)
    #expect(try run.facts(try Pictures.profiled(plain, "srgb", as: ".jpg"))["colorSpace"] == "srgb")
    #expect(try run.facts(try Pictures.profiled(plain, "cmyk", as: ".jpg"))["colorSpace"] == "cmyk")
    #expect(try run.facts(try Pictures.file(plain, ".jpg"))["colorSpace"] == "srgb")
    #expect(
      try run.facts(try Pictures.file(try Pictures.plain([9]), ".png"))["colorSpace"] == "grey")
    let deep = try run.facts(try Pictures.sixteenBitPNG(width: 30, height: 20))
    #expect(deep["bitDepth"] == 16 && deep["alpha"] == false)
    let clear = try run.facts(try Pictures.alphaPNG([1, 2, 3], width: 30, height: 20))
    #expect(clear["bitDepth"] == 8 && clear["alpha"] == true && clear["pages"] == 1)
    for suffix in [".gif", ".webp", ".tif"] {
      let frames = try Pictures.frames([[200, 0, 0], [0, 200, 0], [0, 0, 200]], as: suffix)
      let facts = try run.facts(frames)
      #expect(facts["pages"] == 3, "\(suffix)")
      #expect(facts["width"] == 120 && facts["height"] == 80, "\(suffix)")
    }
  }

  @Test("Pictures in several passes are said to need all of their pixels")
  func decodeBytes() throws {
    let size = 900
    func streamed(_ bytes: [UInt8]) throws -> Int {
      try #require(try run.facts(bytes)["decodeBytes"]?["streamed"]?.integer)
    }
    let baseline = try streamed(try Pictures.jpeg(width: size, height: size))
    let progressive = try streamed(try Pictures.jpeg(width: size, height: size, progressive: true))
    #expect(progressive - baseline > size * size * 2)
    let picture = try Pictures.picture(width: size, height: size)
    let plain = try streamed(try Pictures.file(picture, ".png"))
    let interlaced = try streamed(try Pictures.file(picture, ".png[interlace]"))
    #expect(interlaced - plain >= size * size * 2)
    let facts = try run.facts(try Pictures.jpeg(width: size, height: size))
    #expect(try #require(facts["decodeBytes"]?["whole"]?.integer) >= baseline + size * size * 2)
  }

  @Test("Damaged pictures have a type and a problem, and never fail")
  func damaged() throws {
    for suffix in [".jpg", ".png", ".webp", ".gif", ".tif", ".heic"] {
      let whole = try Pictures.file(try Pictures.picture(width: 60, height: 40), suffix)
      let type = try run.facts(whole)["mediaType"]
      for length in [40, 100, 200] {
        let facts = try run.facts(Array(whole.prefix(length)))
        #expect(facts["mediaType"] == type)
        if facts["width"] == nil {
          run.expectSentence(try #require(facts["problem"]?.string, "\(suffix) \(length)"))
        }
      }
    }
  }

  @Test("A file that is not there is the disk's fault, not the picture's")
  func missingFile() throws {
    let result = try run.process(path: run.folder.appending(path: "absent.jpg").path)
    guard case .failed(let failure) = result else { throw Unexpected("\(result)") }
    #expect(failure.class == .transient)
    run.expectSentence(failure.reason)
  }
}
