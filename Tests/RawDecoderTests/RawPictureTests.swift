import Containers
import Fixtures
import PictureDecoding
import PipelineModel
import Testing

@Suite("Raw files", .timeLimit(.minutes(2)))
struct RawPictureTests {
  private func decode(
    _ bytes: [UInt8], longest: Int?, isCancelled: () -> Bool = { false }
  ) throws -> DecodedPicture {
    let file = try SampleFile(bytes)
    return try BuiltDecoder.raw().decode(
      DecoderRequest(path: file.path, mediaType: "image/x-adobe-dng", longest: longest),
      isCancelled: isCancelled)
  }

  private func facts(_ bytes: [UInt8]) throws -> [String: JSONValue] {
    let file = try SampleFile(bytes)
    return try BuiltDecoder.raw().facts(
      DecoderRequest(path: file.path, mediaType: "image/x-adobe-dng"), isCancelled: { false })
  }

  private func encoded(_ picture: DecodedPicture) throws -> [UInt8] {
    guard case .encoded(let bytes) = picture.content else {
      Issue.record("pixels instead of a preview")
      return []
    }
    return bytes
  }

  private func size(_ picture: DecodedPicture) -> [Int] {
    guard case .pixels(_, let width, let height, _) = picture.content else { return [] }
    return [width, height]
  }

  @Test("A picture is developed as it is stored, with the orientation to apply", arguments: 1...8)
  func orientation(orientation: Int) throws {
    let sample = RawSample(orientation: orientation)
    let picture = try decode(sample.bytes, longest: 100)
    guard case .pixels(let pixels, 160, 120, 3) = picture.content else {
      Issue.record("not half the size: \(size(picture))")
      return
    }
    for (index, quarter) in RawSample.quarters.enumerated() {
      let (x, y) = (index % 2 == 0 ? 40 : 120, index < 2 ? 30 : 90)
      let color = pixels[((y * 160 + x) * 3)..<((y * 160 + x) * 3 + 3)].map { $0 > 128 ? 1 : 0 }
      #expect(color == quarter)
    }
    #expect(picture.orientation == orientation)
    #expect(!picture.isPreview && picture.damage == nil && picture.profile.isEmpty)
    let facts = try facts(sample.bytes)
    #expect(facts["width"] == .integer(orientation > 4 ? 240 : 320))
    #expect(facts["height"] == .integer(orientation > 4 ? 320 : 240))
    #expect(facts["orientation"] == .integer(orientation))
  }

  @Test("The full size is developed if half is not enough", arguments: [161, 5000, nil])
  func fullSize(longest: Int?) throws {
    #expect(size(try decode(RawSample().bytes, longest: longest)) == [320, 240])
  }

  @Test("The smallest preview that is large enough is used")
  func previews() throws {
    let small = JPEGSample.bytes(width: 160, height: 120)
    let large = JPEGSample.bytes(width: 320, height: 240)
    let bytes = RawSample(previews: [large, small]).bytes
    for (longest, wanted) in [(100, small), (160, small), (161, large), (5000, large)] {
      let picture = try decode(bytes, longest: longest)
      #expect(try encoded(picture) == wanted)
      #expect(picture.isPreview && picture.orientation == 1 && picture.damage == nil)
    }
    #expect(try encoded(try decode(bytes, longest: nil)) == large)
    // Not large enough.
    #expect(size(try decode(RawSample(previews: [small]).bytes, longest: 161)) == [320, 240])
  }

  /// In layers more bytes than pixels; coded by Kodak, or of 16 bits, more pixels than the sensor has.
  @Test(
    "A thumbnail that LibRaw would unpack beyond its memory is left alone",
    arguments: [(nil, 8, 20), (65000, 8, 600), (1, 16, 600)])
  func unsafeThumbnail(compression: Int?, bits: Int, side: Int) throws {
    var thumbnail = TIFFTags()
    thumbnail.long(0x00FE, [1])
    thumbnail.long(0x0100, [side])
    thumbnail.long(0x0101, [side])
    thumbnail.short(0x0102, [bits, bits, bits])
    if let compression { thumbnail.short(0x0103, [compression]) }
    thumbnail.short(0x0106, [2])
    thumbnail.long(0x0111, [8])
    thumbnail.short(0x0115, [3])
    thumbnail.long(0x0117, [1 << 20])
    var sample = RawSample()
    (sample.width, sample.height) = (32, 32)
    sample.thumbnail = thumbnail
    let file = sample.bytes + [UInt8](repeating: 0, count: 3 << 20)
    #expect(size(try decode(file, longest: 100)) == [32, 32])
  }

  @Test("A preview is turned like the picture unless it already is, or says so itself")
  func previewOrientation() throws {
    for (width, height, own, wanted) in [
      (160, 120, nil, 6), (120, 160, nil, 1), (160, 120, 8, 8), (160, 120, 1, 6), (120, 160, 1, 1),
    ] as [(Int, Int, Int?, Int)] {
      let preview = JPEGSample.bytes(width: width, height: height, orientation: own)
      let picture = try decode(RawSample(orientation: 6, previews: [preview]).bytes, longest: 100)
      #expect(try encoded(picture) == preview)
      #expect(picture.orientation == wanted, "\(width) × \(height), own \(own ?? 0)")
    }
  }

  @Test("A preview of another shape, a cut one and one of lossless coding are not used")
  func uselessPreviews() throws {
    let good = JPEGSample.bytes(width: 160, height: 120)
    let cut = Array(good.dropLast(2))
    var lossless = good
    lossless[lossless.firstIndex(of: 0xC0) ?? 0] = 0xC3
    for preview in [JPEGSample.bytes(width: 160, height: 112), cut, lossless] {
      let picture = try decode(RawSample(previews: [preview]).bytes, longest: 100)
      #expect(size(picture) == [160, 120] && !picture.isPreview)
    }
    // Within the tolerance.
    let near = JPEGSample.bytes(width: 160, height: 118)
    #expect(try decode(RawSample(previews: [near]).bytes, longest: 100).isPreview)
  }

  @Test("A preview whose colours are Adobe RGB gets a profile")
  func adobeRGB() throws {
    let preview = JPEGSample.bytes(width: 160, height: 120, orientation: 1)
    let plain = try decode(RawSample(previews: [preview]).bytes, longest: 100)
    #expect(try encoded(plain) == preview)
    let sample = RawSample(previews: [preview], interoperability: "R03")
    let bytes = try encoded(try decode(sample.bytes, longest: 100))
    let profile = MatrixProfile.adobeRGB.bytes
    // After the EXIF block, which has to be first.
    let exif = 2 + 2 + Int(preview[5])
    #expect(bytes.prefix(exif) == preview.prefix(exif))
    #expect(Array(bytes[exif..<(exif + 2)]) == [0xFF, 0xE2])
    #expect(bytes[(exif + 4)...].starts(with: "ICC_PROFILE\0\u{1}\u{1}".utf8))
    #expect(bytes[(exif + 18)...].starts(with: profile))
    #expect(bytes[(exif + 18 + profile.count)...] == preview[exif...])
    #expect(try facts(sample.bytes)["colorSpace"] == "adobe-rgb")
    // Developed colours are sRGB.
    #expect(try decode(sample.bytes, longest: 300).profile.isEmpty)
  }

  @Test("A file that is cut gives damage or an error, never a picture without a word")
  func cut() throws {
    let preview = JPEGSample.bytes(width: 160, height: 120)
    let bytes = RawSample(previews: [preview]).bytes
    for missing in [1, 2, 1000, 100_000] {
      let picture = try decode(Array(bytes.dropLast(missing)), longest: 100)
      #expect(picture.isPreview && picture.damage != nil)
    }
    let plain = RawSample().bytes
    for length in stride(from: 0, to: plain.count, by: 4999) + [plain.count - 1] {
      do {
        #expect(try decode(Array(plain.prefix(length)), longest: 100).damage != nil)
      } catch let error as DecoderError {
        #expect(error.code == .undecodable)
      }
    }
  }

  @Test("A cancelled job ends")
  func cancelled() throws {
    #expect {
      try decode(RawSample().bytes, longest: 100, isCancelled: { true })
    } throws: { ($0 as? DecoderError)?.code == .cancelled }
  }

  @Test("What is no raw file is refused")
  func foreign() throws {
    for bytes in [[], Array("no picture".utf8), JPEGSample.bytes(width: 160, height: 120)] {
      #expect { try decode(bytes, longest: 100) } throws: {
        ($0 as? DecoderError)?.code == .undecodable
      }
      #expect { try facts(bytes) } throws: { ($0 as? DecoderError)?.code == .undecodable }
    }
    #expect {
      try BuiltDecoder.raw().decode(
        DecoderRequest(path: "/nowhere/at-all", mediaType: "image/x-raw"), isCancelled: { false })
    } throws: { ($0 as? DecoderError)?.code == .inputOutput }
  }

  private func big(_ value: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private func box(_ name: String, _ content: [UInt8], long: UInt64? = nil) -> [UInt8] {
    long.map { big(1, 4) + Array(name.utf8) + big($0, 8) + content }
      ?? big(UInt64(content.count + 8), 4) + Array(name.utf8) + content
  }

  @Test("The boxes of a camera's CR3 are let through")
  func cameraBoxes() throws {
    func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
    func track(_ sample: [UInt8]) -> [UInt8] {
      let table =
        box("stsd", big(0, 4) + big(1, 4) + sample) + box("stts", zeros(16))
        + box("stsc", zeros(20)) + box("stsz", zeros(12))
        + box("free", []) + box("co64", big(0, 4) + big(1, 4) + big(2000, 8))
      let media = box("vmhd", zeros(12)) + box("dinf", box("dref", zeros(20))) + box("stbl", table)
      return box(
        "trak",
        box("tkhd", zeros(84))
          + box("mdia", box("mdhd", zeros(24)) + box("hdlr", zeros(25)) + box("minf", media)))
    }
    let canon: [UInt8] = [0x85, 0xC0, 0xB6, 0x87] + zeros(12)
    let tracks = box("CCTP", zeros(12) + box("CCDT", zeros(16)) + box("CCDT", zeros(16)))
    let metadata =
      box("CNCV", Array("CanonCR3_001/00.09.00/00.00.00".utf8)) + tracks + box("CTBO", zeros(84))
      + box("CMT1", zeros(40)) + box("THMB", zeros(16))
    let jpeg = box("CRAW", zeros(82) + box("JPEG", zeros(4)) + box("free", []))
    let raw = box("CRAW", zeros(82) + box("CMP1", zeros(52)) + box("CDI1", zeros(44)))
    let pixels = [UInt8](repeating: 0x5A, count: 4000)
    let file =
      box("ftyp", Array("crx \0\0\0\u{1}crx isom".utf8))
      + box(
        "moov",
        box("uuid", canon + metadata) + box("mvhd", zeros(100)) + track(jpeg) + track(raw)
          + track(box("CTMD", zeros(20))))
      + box("uuid", zeros(16) + box("PRVW", zeros(40)))
      + box("mdat", pixels, long: UInt64(pixels.count + 16))
    // There are no pixels in it, so only LibRaw can say that.
    let error = #expect(throws: DecoderError.self) { try facts(file) }
    #expect(error?.message != "The raw file's tables are damaged or cut")
  }

  @Test("Boxes of a CR3 that lead LibRaw nowhere are refused at once")
  func endlessBoxes() throws {
    let start = box("ftyp", Array("crx \0\0\0\u{1}crx isom".utf8))
    let rest = [UInt8](repeating: 0xFF, count: 4000)
    for (name, long) in [
      ("free", 0), ("free", UInt64.max - 15), ("moov", 1 << 60), ("trak", 1 << 40),
    ] as [(String, UInt64)] {
      let endless = box(name, rest, long: long)
      for boxes in [endless, box("moov", endless), box("moov", box("trak", endless))] {
        let error = #expect(throws: DecoderError.self) { try facts(start + boxes) }
        #expect(error?.message == "The raw file's tables are damaged or cut", "\(name) \(long)")
      }
    }
    // The pixels of a file that is cut are no reason.
    let cut = start + box("moov", box("free", rest)) + box("mdat", rest, long: 1 << 30)
    let error = #expect(throws: DecoderError.self) { try facts(cut) }
    #expect(error?.message != "The raw file's tables are damaged or cut")
  }

  @Test("The camera is a fact; exposure and time are left to other stages")
  func camera() throws {
    let facts = try facts(RawSample().bytes)
    #expect(facts["make"] == "Testing" && facts["model"] == "Camera One")
    #expect(
      facts.keys.sorted() == [
        "alpha", "bitDepth", "colorSpace", "decodeBytes", "height", "make", "model", "orientation",
        "pages", "width",
      ])
    #expect(facts["bitDepth"] == 16 && facts["colorSpace"] == "srgb")
    guard case .object(let memory) = facts["decodeBytes"],
      case .integer(let streamed) = memory["streamed"], case .integer(let whole) = memory["whole"]
    else {
      Issue.record("no estimates")
      return
    }
    #expect(whole > streamed && streamed > 320 * 240 * 2)
  }
}
