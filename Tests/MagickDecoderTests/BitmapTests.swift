import Containers
import PictureDecoding
import PipelineModel
import Testing

@Suite("Old pictures: BMP", .timeLimit(.minutes(1)))
struct BitmapTests {
  private func pixels(_ bytes: [UInt8]) throws -> [UInt8] {
    let picture = try OldFile(bytes, "image/bmp").decode()
    #expect(picture.damage == nil && picture.orientation == 1 && !picture.isPreview)
    return try #require(SeenPicture(picture)).pixels
  }

  @Test("Rows go up, or down if the height is negative")
  func rows() throws {
    let lower: [UInt8] = [255, 0, 0, 255, 255, 255, 0, 0]
    let upper: [UInt8] = [0, 0, 255, 0, 255, 0, 0, 0]
    #expect(try pixels(OldPictures.bitmap(bits: 24, lower + upper)) == OldPictures.corners)
    #expect(
      try pixels(OldPictures.bitmap(height: -2, bits: 24, upper + lower)) == OldPictures.corners)
  }

  @Test("Palettes of one to eight bits, and runs of them")
  func palettes() throws {
    let palette = OldPictures.palette
    for (bits, compression, data) in [
      (8, 0, [2, 3, 0, 0, 0, 1, 0, 0]), (4, 0, [0x23, 0, 0, 0, 0x01, 0, 0, 0]),
      (2, 0, [0xB0, 0, 0, 0, 0x10, 0, 0, 0]),
      (8, 1, [1, 2, 1, 3, 0, 0, 1, 0, 1, 1, 0, 1]), (4, 2, [2, 0x23, 0, 0, 2, 0x01, 0, 1]),
      // Absolute runs are of three values or more: across the row's end is damage, so a step.
      (8, 1, [1, 2, 1, 3, 0, 2, 0, 0, 0, 0, 1, 0, 1, 1]),
    ] as [(Int, Int, [UInt8])] {
      let bytes = OldPictures.bitmap(
        bits: bits, compression: compression, palette: palette, data)
      #expect(try pixels(bytes) == OldPictures.corners, "\(bits) bits, compression \(compression)")
    }
  }

  /// The code words of rows as bytes, with the highest bit first or last.
  private func faxRows(_ words: [String], isReversed: Bool = false) -> [UInt8] {
    let bits = words.joined().map { UInt8(String($0)) ?? 0 }
    return stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<min(start + 8, bits.count)].enumerated().reduce(0) { byte, bit in
        byte | bit.element << (isReversed ? bit.offset : 7 - bit.offset)
      }
    }
  }

  @Test("Rows of OS/2's Huffman codes, with the highest bit first or last")
  func huffman() throws {
    let mark = "000000000001"
    // Below one white pixel and one black one, above two black ones after no white one.
    let words = [mark, "000111", "010", mark, "00110101", "11"]
    let (white, black): ([UInt8], [UInt8]) = ([250, 240, 230], [10, 20, 30])
    let palette: [UInt8] = white.reversed() + [0] + black.reversed() + [0]
    for isReversed in [false, true] {
      let bytes = OldPictures.bitmap(
        bits: 1, compression: 3, palette: palette, isOS2: isReversed,
        faxRows(words, isReversed: isReversed))
      #expect(try pixels(bytes) == black + black + white + black, "reversed: \(isReversed)")
      let cut = OldPictures.bitmap(
        bits: 1, compression: 3, palette: palette,
        faxRows(Array(words.prefix(3)), isReversed: isReversed))
      let picture = try OldFile(cut, "image/bmp").decode()
      #expect(picture.damage != nil)
      #expect(try #require(SeenPicture(picture)).pixels.suffix(6) == (white + black)[...])
    }
    // A row of three white pixels, which is one too many.
    let long = OldPictures.bitmap(
      bits: 1, compression: 3, palette: palette,
      faxRows([mark, "1000", mark, "00110101", "11"]))
    #expect(try OldFile(long, "image/bmp").decode().damage != nil)
    // Few rows, none, and as many as there should be, which are too short.
    for (width, height, data) in [
      (2, 8_000, faxRows(words)), (2, 2, [0x35, 0xFF]),
      (15_900, 2_000, faxRows([String](repeating: mark, count: 250))),
    ] {
      let bytes = OldPictures.bitmap(
        width: width, height: height, bits: 1, compression: 3, palette: palette, data)
      #expect { try OldFile(bytes, "image/bmp").decode() } throws: {
        ($0 as? DecoderError)?.message.contains("ends before most of its pixels") == true
      }
    }
    // A white page: rows of one run, of 1,728 and of 0 pixels.
    let row = [mark, "010011011", "00110101"]
    let page = OldPictures.bitmap(
      width: 1728, height: 2200, bits: 1, compression: 3, palette: palette, isOS2: true,
      faxRows([[String]](repeating: row, count: 2200).flatMap(\.self)))
    let file = try OldFile(page, "image/bmp")
    #expect(try file.decode().damage == nil)
    #expect(try file.facts()["problem"] == nil)
    // What MagickCore would refuse is told beforehand.
    let roll = try OldFile(
      OldPictures.bitmap(
        width: 1, height: 99_000, bits: 1, compression: 3, palette: palette,
        faxRows([[String]](repeating: [mark, "000111"], count: 99_000).flatMap(\.self))),
      "image/bmp")
    let problem = try roll.facts()["problem"]?.string
    let failure = #expect(throws: DecoderError.self) { try roll.decode() }
    #expect(failure?.code == .tooLarge && failure?.message == problem)
  }

  @Test("Sixteen and 32 bits, with and without masks")
  func masks() throws {
    let plain = OldPictures.bitmap(
      bits: 16, [0x1F, 0, 0xFF, 0x7F] + [0, 0x7C, 0xE0, 0x03])
    #expect(try pixels(plain) == OldPictures.corners)
    let green = OldPictures.bitmap(
      width: 1, height: 1, bits: 16, compression: 3, masks: [0xF800, 0x07E0, 0x1F], [0xE0, 7, 0, 0])
    #expect(try pixels(green) == [0, 255, 0])
    // Four bytes without masks: the last has no meaning.
    let unused = OldPictures.bitmap(width: 1, height: 1, bits: 32, [10, 20, 30, 7])
    #expect(try pixels(unused) == [30, 20, 10])
    for (alpha, wanted) in [(128, 128), (0, 255)] as [(UInt8, UInt8)] {
      let bytes = OldPictures.bitmap(
        width: 1, height: 1, bits: 32, compression: 3,
        masks: [0xFF0000, 0xFF00, 0xFF, 0xFF00_0000], [10, 20, 30, alpha])
      #expect(try pixels(bytes) == [30, 20, 10, wanted])
    }
  }

  @Test("Damage and missing rows are told")
  func damage() throws {
    let rows = OldPictures.bitmap(
      width: 4, height: 16, bits: 24, [UInt8](repeating: 9, count: 12 * 16))
    #expect(try OldFile(rows, "image/bmp").decode().damage == nil)
    #expect(try OldFile(Array(rows.dropLast()), "image/bmp").decode().damage != nil)
    #expect { try OldFile(Array(rows.prefix(60)), "image/bmp").decode() } throws: {
      ($0 as? DecoderError)?.code == .undecodable
    }
    // A run beyond the row, and runs that end before the last row.
    for runs in [[3, 1, 0, 0, 2, 1, 0, 1], [2, 1], [2, 1, 0, 0, 0, 4, 1]] as [[UInt8]] {
      let bytes = OldPictures.bitmap(
        bits: 8, compression: 1, palette: OldPictures.palette, runs)
      #expect(try OldFile(bytes, "image/bmp").decode().damage != nil, "\(runs)")
    }
  }

  @Test("A PNG or JPEG inside is handed out, and nothing else")
  func embedded() throws {
    let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]
    let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3]
    for (compression, content) in [(5, png), (4, jpeg)] {
      let picture = try OldFile(
        OldPictures.bitmap(bits: 0, compression: compression, content), "image/bmp"
      ).decode()
      guard case .encoded(let bytes) = picture.content else {
        Issue.record("pixels")
        continue
      }
      #expect(bytes == content)
    }
    let drawing = Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8)
    for (compression, content) in [
      (5, jpeg), (4, png), (4, drawing), (5, drawing), (5, Array(png.prefix(7))),
      (4, [0xFF, 0xD8]),
    ] {
      let bytes = OldPictures.bitmap(bits: 0, compression: compression, content)
      #expect { try OldFile(bytes, "image/bmp").decode() } throws: {
        ($0 as? DecoderError)?.code == .undecodable
      }
    }
  }

  @Test("Facts, and a size that is refused")
  func facts() throws {
    let facts = try OldFile(
      OldPictures.bitmap(height: -2, bits: 24, OldPictures.zeros(16)), "image/bmp"
    ).facts()
    #expect(facts["width"] == 2 && facts["height"] == 2 && facts["alpha"] == false)
    #expect(facts["bitDepth"] == 8 && facts["colorSpace"] == "srgb")
    // The estimate counts the whole file, of which only the header is read.
    let long = OldPictures.bitmap(
      width: 300, height: 300, bits: 24, OldPictures.zeros(900 * 300))
    let bytes = (8 << 20) + 300 * 300 * 6 + long.count
    #expect(
      try OldFile(long, "image/bmp").facts()["decodeBytes"]
        == ["streamed": .integer(bytes), "whole": .integer(bytes)])
    let huge = OldPictures.bitmap(width: 90_000, height: 90_000, bits: 24, OldPictures.zeros(16))
    #expect { try OldFile(huge, "image/bmp").decode() } throws: {
      ($0 as? DecoderError)?.code == .tooLarge
    }
  }

  @Test("A small file of runs can't ask for much memory")
  func manyPixels() throws {
    let runs = OldPictures.bitmap(
      width: 12_000, height: 12_000, bits: 8, compression: 1, palette: OldPictures.palette,
      OldPictures.zeros(1_200_000))
    let file = try OldFile(runs, "image/bmp")
    #expect { try file.decode() } throws: { ($0 as? DecoderError)?.code == .tooLarge }
    #expect { try file.facts() } throws: { ($0 as? DecoderError)?.code == .tooLarge }
  }
}
