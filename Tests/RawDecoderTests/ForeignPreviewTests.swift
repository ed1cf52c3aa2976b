import Containers
import Fixtures
import PictureDecoding
import PipelineModel
import Testing

@Suite("Raw files: previews that LibRaw does not reach", .timeLimit(.minutes(1)))
struct ForeignPreviewTests {
  private func number(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  private func box(_ kind: String, _ content: [UInt8]) -> [UInt8] {
    number(content.count + 8, 4) + Array(kind.utf8) + content
  }

  @Test("The preview of a CR3 file of an unknown camera is used")
  func cr3() throws {
    let jpeg = JPEGSample.bytes(width: 162, height: 108)
    let prvw = [0, 0, 0, 0] + number(1, 2) + number(162, 2) + number(108, 2) + number(1, 2)
    let tiff =
      Array("II*\0".utf8)
      + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]
    let canon = [0x85, 0xC0, 0xB6, 0x87] + [UInt8](repeating: 0, count: 12)
    let previews = [0xEA, 0xF4, 0x2B, 0x5E] + [UInt8](repeating: 0, count: 20)
    let bytes =
      box("ftyp", Array("crx \0\0\0\u{1}crx isom".utf8))
      + box("moov", box("uuid", canon + box("CMT1", tiff)))
      + box("uuid", previews + box("PRVW", prvw + number(jpeg.count, 4) + jpeg))
    let file = try SampleFile(bytes)
    let request = DecoderRequest(path: file.path, mediaType: "image/x-canon-cr3", longest: 400)
    let picture = try BuiltDecoder.raw().decode(request, isCancelled: { false })
    guard case .encoded(let found) = picture.content else {
      Issue.record("no preview")
      return
    }
    #expect(found == jpeg && picture.orientation == 6 && picture.isPreview)
    #expect(picture.damage == nil)
    let facts = try BuiltDecoder.raw().facts(request, isCancelled: { false })
    #expect(facts["width"] == 108 && facts["height"] == 162)
  }

  @Test("The preview of an X3F file is used")
  func x3f() throws {
    func little(_ value: Int) -> [UInt8] { number(value, 4).reversed() }
    let jpeg = JPEGSample.bytes(width: 150, height: 100)
    let head = Array("FOVb".utf8) + [UInt8](repeating: 0, count: 68)
    let section =
      Array("SECi".utf8) + [2, 18, 150, 100, 0].flatMap(little)
      + [UInt8](repeating: 0, count: 4) + jpeg
    var swapped = section
    // Version, type, format.
    swapped.replaceSubrange(4..<16, with: little(0x20000) + little(2) + little(18))
    let table =
      Array("SECd".utf8) + little(0x20000) + little(1) + little(72) + little(swapped.count)
      + Array("IMA2".utf8)
    let file = try SampleFile(head + swapped + table + little(72 + swapped.count))
    let picture = try BuiltDecoder.raw().decode(
      DecoderRequest(path: file.path, mediaType: "image/x-sigma-x3f", longest: 400),
      isCancelled: { false })
    guard case .encoded(let found) = picture.content else {
      Issue.record("no preview")
      return
    }
    #expect(found == jpeg && picture.orientation == 1 && picture.isPreview)
  }

  /// A TIFF file of directories with values of four bytes.
  private func tiff(magic: UInt8 = 42, _ directories: [[(tag: Int, type: Int, value: Int)]])
    -> [UInt8]
  {
    func little(_ value: Int, _ count: Int) -> [UInt8] { number(value, count).reversed() }
    var out = Array("II".utf8) + [magic, 0] + little(8, 4)
    for (index, entries) in directories.enumerated() {
      out += little(entries.count, 2)
      for entry in entries {
        // Values of undefined type are a JPEG at an offset, whose length is the tag's count.
        out += little(entry.tag, 2) + little(entry.type, 2)
        out += little(entry.type == 7 ? 1000 : 1, 4) + little(entry.value, 4)
      }
      out += little(index + 1 < directories.count ? out.count + 4 : 0, 4)
    }
    return out
  }

  private func decode(_ file: SampleFile, _ type: String) throws -> DecodedPicture {
    try BuiltDecoder.raw().decode(
      DecoderRequest(path: file.path, mediaType: type), isCancelled: { false })
  }

  @Test("Panasonic's raw data are found by their own tag")
  func panasonic() throws {
    let jpeg = JPEGSample.bytes(width: 160, height: 120)
    let place = 200
    let start = place + 1000
    let length = 5000
    /// With the tag of the raw data's offset or without.
    func bytes(magic: UInt8, _ offset: Int, _ own: Int?) -> [UInt8] {
      let entries =
        [(0x002E, 7, place), (0x0111, 4, offset), (0x0117, 4, length)]
        + (own.map { [(0x0118, 4, $0)] } ?? [])
      let head = tiff(magic: magic, [entries])
      let preview =
        [UInt8](repeating: 0, count: place - head.count) + jpeg
        + [UInt8](repeating: 0, count: start - place - jpeg.count)
      return head + preview + [UInt8](repeating: 7, count: length)
    }
    for (whole, canBeCut) in [
      (bytes(magic: 0x55, 0xFFFF_FFFF, start), true), (bytes(magic: 0x55, start, nil), true),
      (bytes(magic: 42, start, nil), true), (bytes(magic: 42, 0xFFFF_FFFF, nil), false),
    ] {
      let intact = try decode(SampleFile(whole), "image/x-panasonic-rw2")
      #expect(intact.isPreview && intact.damage == nil)
      let cut = try decode(SampleFile(Array(whole.dropLast())), "image/x-panasonic-rw2")
      #expect(cut.isPreview && (cut.damage != nil) == canBeCut)
    }
  }

  @Test("Many previews are searched up to a limit, and each place once")
  func manyPreviews() throws {
    let small = JPEGSample.bytes(width: 160, height: 120)
    let large = JPEGSample.bytes(width: 320, height: 240)
    let length = 60 << 20
    func width(_ offsets: [Int], lengths: (Int) -> Int) throws -> Int {
      let directories = offsets.enumerated().map { index, offset in
        [(0x0201, 4, offset), (0x0202, 4, lengths(index))]
      }
      var bytes = tiff(directories)
      for offset in offsets where offset > bytes.count {
        bytes += [UInt8](repeating: 0, count: offset - bytes.count)
        bytes += offset == offsets.last ? large : small
      }
      let picture = try decode(SampleFile(bytes, size: 70 << 20), "image/x-raw")
      guard case .encoded(let found) = picture.content else { return 0 }
      return found == large ? 320 : found == small ? 160 : 0
    }
    // The fifth is beyond the limit.
    #expect(try width([1000, 2000, 3000, 4000, 5000]) { _ in length } == 160)
    #expect(try width([1000, 2000, 3000, 5000]) { _ in length } == 320)
    // One of six lengths, and the last.
    #expect(try width([1000, 1000, 1000, 1000, 1000, 1000, 5000]) { length - $0 } == 320)
  }

  @Test("A file that the kernel can't read is not called damaged", .enabled(if: Unreadable.exists))
  func inputOutput() throws {
    let request = DecoderRequest(path: Unreadable.path, mediaType: "image/x-raw")
    #expect { try BuiltDecoder.raw().decode(request, isCancelled: { false }) } throws: {
      ($0 as? DecoderError)?.code == .inputOutput
    }
    #expect { try BuiltDecoder.raw().facts(request, isCancelled: { false }) } throws: {
      ($0 as? DecoderError)?.code == .inputOutput
    }
  }

  @Test("A cut Phase One file does not keep LibRaw busy")
  func phaseOne() throws {
    func little(_ value: Int) -> [UInt8] { number(value, 4).reversed() }
    // A table without entries, and nothing where the second one should be.
    let bytes =
      Array("II*\0".utf8) + little(8) + Array("IIII".utf8) + little(0x5261_7700) + little(16)
      + [UInt8](repeating: 0, count: 4) + little(0) + little(0)
      + [UInt8](repeating: 0xFF, count: 64)
    let file = try SampleFile(bytes)
    let clock = ContinuousClock()
    let time = clock.measure {
      #expect {
        try BuiltDecoder.raw().decode(
          DecoderRequest(path: file.path, mediaType: "image/x-phaseone-iiq"),
          isCancelled: { false })
      } throws: { ($0 as? DecoderError)?.code == .undecodable }
    }
    #expect(time < .seconds(20))
  }
}
