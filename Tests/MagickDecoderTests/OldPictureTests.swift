import Containers
import PictureDecoding
import PipelineModel
import Testing

@Suite("Old pictures: MagickCore", .timeLimit(.minutes(1)))
struct OldPictureTests {
  @Test("The largest picture of an icon is shown, of these the one with the most bits")
  func icon() throws {
    let small = OldPictures.iconBitmap(side: 16, bits: 32, color: [1, 2, 3, 255], mask: 0)
    let plain = OldPictures.iconBitmap(side: 32, bits: 24, color: [4, 5, 6], mask: 0xF0)
    let best = OldPictures.iconBitmap(side: 32, bits: 32, color: [10, 20, 30, 200], mask: 0)
    for kind in [1, 2] {
      let bytes = OldPictures.icon(kind: kind, [(16, small), (32, best), (32, plain)])
      let file = try OldFile(bytes, "image/vnd.microsoft.icon")
      let seen = try #require(SeenPicture(try file.decode()))
      #expect(seen.width == 32 && seen.height == 32 && seen.first == [30, 20, 10, 200])
      #expect(try file.facts()["pages"] == 3)
    }
    // Colours with a mask, in which ones are transparent.
    let masked = try OldFile(OldPictures.icon([(32, plain)]), "image/x-icon").decode()
    let seen = try #require(SeenPicture(masked))
    #expect(seen.first == [6, 5, 4, 0] && seen.pixels[4 * 4 + 3] == 255)
    // The best one is cut off.
    let cut = try OldFile(
      Array(OldPictures.icon([(16, small), (32, best)]).dropLast()), "image/x-icon"
    ).decode()
    #expect(SeenPicture(cut)?.width == 16 && cut.damage != nil)
  }

  @Test("A picture of an icon that is not understood is not called missing")
  func foreignIcon() throws {
    let small = OldPictures.iconBitmap(side: 16, bits: 32, color: [1, 2, 3, 255], mask: 0)
    // A header of OS/2.
    let foreign =
      OldPictures.little(12, 4) + OldPictures.little(32, 2) + OldPictures.little(64, 2)
      + OldPictures.little(1, 2) + OldPictures.little(1, 2) + OldPictures.zeros(262)
    let picture = try OldFile(
      OldPictures.icon([(32, foreign), (16, small)]), "image/x-icon"
    ).decode()
    #expect(SeenPicture(picture)?.width == 16 && picture.damage == nil)
    func message(_ bytes: [UInt8]) throws -> String? {
      do {
        _ = try OldFile(bytes, "image/x-icon").decode()
        return nil
      } catch let error as DecoderError {
        return error.code == .undecodable ? error.message : nil
      }
    }
    let only = OldPictures.icon([(32, foreign)])
    #expect(try message(only) == "The icon's pictures are of a kind that is not decoded")
    #expect(
      try message(Array(only.dropLast())) == "The icon ends before its first picture")
    // Another size than any header has.
    var damaged = foreign
    damaged[0] = 13
    let other = try OldFile(
      OldPictures.icon([(32, damaged), (16, small)]), "image/x-icon"
    ).decode()
    #expect(other.damage == "pictures in it are damaged")
  }

  @Test("PCX and SGI, whole and cut")
  func planes() throws {
    for (type, bytes) in [
      ("image/x-pcx", OldPictures.pcx(color: [30, 20, 10])),
      ("image/vnd.zbrush.pcx", OldPictures.pcx(color: [30, 20, 10])),
      ("image/x-sgi", OldPictures.siliconGraphics(color: [30, 20, 10])),
    ] {
      let picture = try OldFile(bytes, type).decode()
      let seen = try #require(SeenPicture(picture))
      #expect(seen.width == 16 && seen.height == 16 && picture.damage == nil)
      #expect(seen.pixels == (0..<256).flatMap { _ in [30, 20, 10] as [UInt8] })
      expectDamage(bytes, type)
    }
  }

  @Test("Ones of a PCX with one plane are white, whatever its palette says")
  func monochromePCX() throws {
    let type = "image/x-pcx"
    for palette in [[0, 0, 0, 255, 255, 255], [255, 255, 255], [], [255, 0, 0, 0, 0, 255]]
      as [[UInt8]]
    {
      let bytes = OldPictures.planarPCX(planes: 1, palette: palette)
      let picture = try OldFile(bytes, type).decode()
      let seen = try #require(SeenPicture(picture))
      #expect(seen.width == 16 && seen.height == 2 && picture.damage == nil)
      #expect(seen.first == [UInt8](repeating: 255, count: seen.bands))
      #expect(seen.pixels[(4 * seen.bands)..<(12 * seen.bands)].allSatisfy { $0 == 0 })
      expectDamage(bytes, type)
    }
    // With several planes, bits choose colours of the palette.
    for planes in 2...4 {
      let palette: [UInt8] = (0..<16).flatMap { index -> [UInt8] in
        [UInt8(index * 10), 7, UInt8(255 - index)]
      }
      let file = try OldFile(OldPictures.planarPCX(planes: planes, palette: palette), type)
      let seen = try #require(SeenPicture(file.decode()))
      let last = (1 << planes) - 1
      #expect(seen.first == [UInt8(last * 10), 7, UInt8(255 - last)])
      #expect(seen.pixels[12..<15].elementsEqual([0, 7, 255]))
    }
  }

  /// Cuts a file at several places: each gives an error, or a picture that is called damaged.
  private func expectDamage(_ bytes: [UInt8], _ type: String) {
    for length in [bytes.count - 1, bytes.count * 3 / 4, bytes.count / 2, 20] {
      do {
        let picture = try OldFile(Array(bytes.prefix(length)), type).decode()
        #expect(picture.damage != nil, "\(type) of \(length) bytes")
      } catch {
        #expect((error as? DecoderError)?.code == .undecodable, "\(type): \(error)")
      }
    }
  }

  @Test("The merged picture of a PSD, in its colours")
  func photoshop() throws {
    let type = "image/vnd.adobe.photoshop"
    for (mode, planes, depth, wanted, space) in [
      (3, [30, 20, 10], 8, [30, 20, 10], "srgb"), (1, [77], 8, [77], "grey"),
      (3, [30, 20, 10], 16, [30, 20, 10], "srgb"),
      // Ink is stored inverted; without a profile the plain formula counts.
      (4, [255, 255, 255, 255], 8, [255, 255, 255], "cmyk"),
      (4, [255, 0, 0, 255], 8, [255, 0, 0], "cmyk"),
      (9, [255, 128, 128], 8, [255, 255, 255], "lab"),
    ] as [(Int, [UInt8], Int, [UInt8], JSONValue)] {
      let bytes = OldPictures.photoshop(mode: mode, planes: planes, depth: depth)
      let file = try OldFile(bytes, type)
      let picture = try file.decode()
      let seen = try #require(SeenPicture(picture))
      #expect(zip(seen.first, wanted).allSatisfy { abs(Int($0) - Int($1)) <= 1 }, "\(seen.first)")
      #expect(seen.bands == wanted.count && picture.damage == nil)
      #expect(try file.facts()["colorSpace"] == space)
      expectDamage(bytes, type)
    }
  }

  @Test("A PSD with a palette shows its colours", arguments: [false, true])
  func indexedPhotoshop(isCompressed: Bool) throws {
    let type = "image/vnd.adobe.photoshop"
    // Each index is red of its own value, green of the rest, and blue of half of it.
    let values = (0...255).map { UInt8($0) }
    let palette: [UInt8] = values + values.reversed() + values.map { $0 / 2 }
    for index in [0, 1, 90, 254, 255] as [UInt8] {
      let bytes = OldPictures.photoshop(
        mode: 2, planes: [index], palette: palette, isCompressed: isCompressed)
      let file = try OldFile(bytes, type)
      let picture = try file.decode()
      let seen = try #require(SeenPicture(picture))
      #expect(seen.first == [index, 255 - index, index / 2] && picture.damage == nil)
      let facts = try file.facts()
      #expect(facts["colorSpace"] == "srgb" && facts["alpha"] == false && facts["bitDepth"] == 8)
      expectDamage(bytes, type)
    }
    // A palette that ends too early is none.
    let short = OldPictures.photoshop(mode: 2, planes: [9], palette: Array(palette.prefix(767)))
    #expect(throws: (any Error).self) { try OldFile(short, type).decode() }
  }

  @Test("A PSD without a merged picture shows its thumbnail, or is skipped with a reason")
  func unmergedPhotoshop() throws {
    let type = "image/vnd.adobe.photoshop"
    let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3]
    func version(merged: UInt8) -> [UInt8] {
      OldPictures.resource(1057, OldPictures.big(1, 4) + [merged])
    }
    func thumbnail(format: Int = 1, length: Int? = nil) -> [UInt8] {
      OldPictures.resource(
        1036,
        OldPictures.big(format, 4) + OldPictures.zeros(16)
          + OldPictures.big(length ?? jpeg.count, 4) + [0, 24, 0, 1] + jpeg)
    }
    let exif: [UInt8] =
      Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
    func file(_ resources: [UInt8], hasLayers: Bool = true) throws -> OldFile {
      try OldFile(
        OldPictures.photoshop(
          mode: 3, planes: [255, 255, 255], resources: resources,
          layers: OldPictures.zeros(hasLayers ? 8 : 0)), type)
    }
    for (rest, orientation) in [([], 1), (OldPictures.resource(1058, exif), 6)]
      as [([UInt8], Int)]
    {
      let saved = try file(thumbnail() + version(merged: 0) + rest)
      let picture = try saved.decode()
      guard case .encoded(let bytes) = picture.content else {
        Issue.record("pixels")
        continue
      }
      #expect(bytes == jpeg && picture.isPreview && picture.orientation == orientation)
      #expect(try saved.facts()["width"] == 16)
    }
    for resources in [
      [], thumbnail(format: 0), thumbnail(length: 8), thumbnail(length: 0xFFFF_FFFF),
      thumbnail(length: 2),
    ] {
      #expect { try file(version(merged: 0) + resources).decode() } throws: {
        ($0 as? DecoderError)?.code == .absent
      }
    }
    // A resource whose length goes beyond the section ends it.
    let beyond = Array("8BIM".utf8) + OldPictures.big(1000, 2) + [0, 0] + [0xFF, 0xFF, 0xFF, 0xFF]
    for resources in [version(merged: 1) + thumbnail(), thumbnail(), beyond + version(merged: 0)] {
      let picture = try file(resources).decode()
      #expect(SeenPicture(picture)?.first == [255, 255, 255] && !picture.isPreview)
    }
    // Without layers the merged picture is all that there is.
    let flat = try file(thumbnail() + version(merged: 0), hasLayers: false).decode()
    #expect(SeenPicture(flat)?.first == [255, 255, 255] && !flat.isPreview)
  }

  @Test("A PSD with a header that can't be is refused")
  func photoshopHeader() throws {
    let whole = OldPictures.photoshop(mode: 3, planes: [30, 20, 10])
    let most = [UInt8](repeating: 0xFF, count: 4)
    for (place, value) in [
      // Version, channels, height, width, depth.
      (4, [0, 0]), (4, [0, 3]), (12, [0, 0]), (12, [0, 57]), (12, [0xFF, 0xFF]), (14, most),
      (14, [0, 0, 0, 0]), (18, most), (18, OldPictures.big(300_001, 4)), (22, [0, 0]),
      (22, [0xFF, 0xFF]), (22, [0, 24]),
      (12, [0xFF, 0xFF] + most + most + [0xFF, 0xFF]),
    ] as [(Int, [UInt8])] {
      var bytes = whole
      bytes.replaceSubrange(place..<(place + value.count), with: value)
      for cut in [bytes, Array(bytes.prefix(40))] {
        let file = try OldFile(cut, "image/vnd.adobe.photoshop")
        for answer in [{ _ = try file.decode() }, { _ = try file.facts() }] as [() throws -> Void] {
          #expect("\(place): \(value)") { try answer() } throws: {
            ($0 as? DecoderError)?.code == .undecodable
          }
        }
      }
    }
  }

  @Test("The bits of an XBM, however its array is declared")
  func declaredXBitmap() throws {
    for declaration in [
      "static char a_bits[] = {\n", "static const char a_bits[] = {\n",
      "static const unsigned char a_bits[] = {\n",
      "static unsigned char a_bits[]={", "static const char a_bits[] = { ",
    ] {
      let text = "#define a_width 8\n#define a_height 1\n\(declaration)0x0f };\n"
      let file = try OldFile(Array(text.utf8), "image/x-xbitmap")
      let seen = try #require(SeenPicture(file.decode()))
      #expect(seen.width == 8 && seen.height == 1, "\(declaration)")
      // Ones are black, the first on the left.
      let half = 4 * seen.bands
      #expect(seen.pixels.prefix(half).allSatisfy { $0 == 0 })
      #expect(seen.pixels.dropFirst(half).allSatisfy { $0 == 255 })
    }
  }

  @Test("A DDS of a compression that is not decoded says so")
  func compressedSurface() throws {
    // Four by four pixels of one block; all colours are the first one.
    func surface(_ code: String) -> [UInt8] {
      Array("DDS ".utf8) + OldPictures.little(124, 4) + OldPictures.little(0x1007, 4)
        + OldPictures.little(4, 4) + OldPictures.little(4, 4) + OldPictures.zeros(56)
        + OldPictures.little(32, 4) + OldPictures.little(4, 4) + Array(code.utf8)
        + OldPictures.zeros(20) + OldPictures.little(0x1000, 4) + OldPictures.zeros(16)
        + OldPictures.little(0xF800, 2) + OldPictures.zeros(30)
    }
    let red = try OldFile(surface("DXT1"), "image/x-dds").decode()
    #expect(SeenPicture(red)?.first.prefix(3) == [255, 0, 0])
    for code in ["DX10", "ATI2", "BC4U", "DXT2"] {
      let file = try OldFile(surface(code), "image/x-dds")
      for answer in [{ _ = try file.decode() }, { _ = try file.facts() }] as [() throws -> Void] {
        #expect("\(code)") { try answer() } throws: {
          let error = $0 as? DecoderError
          return error?.code == .undecodable && error?.message.contains("DXT1, DXT3") == true
        }
      }
    }
  }

  @Test("Headers of huge sizes are refused")
  func hugeSizes() throws {
    let most = 0xFFFF_FFFF
    let sun =
      OldPictures.big(0x59A6_6A95, 4) + OldPictures.big(most, 4) + OldPictures.big(most, 4)
      + OldPictures.big(24, 4) + OldPictures.big(0, 4) + OldPictures.big(1, 4)
      + OldPictures.zeros(8 + 64)
    let surface =
      Array("DDS ".utf8) + OldPictures.little(124, 4) + OldPictures.little(0x1007, 4)
      + OldPictures.little(most, 4) + OldPictures.little(most, 4) + OldPictures.zeros(56)
      + OldPictures.little(32, 4) + OldPictures.little(0x40, 4) + OldPictures.zeros(4)
      + OldPictures.little(24, 4) + [0, 0, 0xFF, 0, 0, 0xFF, 0, 0, 0xFF, 0, 0, 0]
      + OldPictures.zeros(4) + OldPictures.little(0x1000, 4) + OldPictures.zeros(80)
    func pixmap(_ size: String) -> [UInt8] {
      Array(
        "/* XPM */\nstatic char *x[] = {\n\"\(size) 1 1\",\n\"a c #000000\",\n\"aa\"\n};\n".utf8)
    }
    for (type, bytes) in [
      ("image/x-sun-raster", sun), ("image/x-dds", surface),
      ("image/x-xpixmap", pixmap("4294967295 4294967295")),
      ("image/x-xpixmap", pixmap("9223372036854775807 9223372036854775807")),
      ("image/x-xpixmap", pixmap("-1 -1")), ("image/x-xpixmap", pixmap("100001 1")),
    ] {
      let file = try OldFile(bytes, type)
      for answer in [{ _ = try file.decode() }, { _ = try file.facts() }] as [() throws -> Void] {
        #expect("\(type)") { try answer() } throws: {
          [.undecodable, .tooLarge].contains(($0 as? DecoderError)?.code)
        }
      }
    }
  }

  @Test("A file that the kernel can't read is not called damaged", .enabled(if: Unreadable.exists))
  func inputOutput() throws {
    for type in ["image/bmp", "image/x-tga", "image/x-pcx"] {
      #expect {
        try OldFile.decode(DecoderRequest(path: Unreadable.path, mediaType: type))
      } throws: { ($0 as? DecoderError)?.code == .inputOutput }
    }
  }

  @Test("A compressed PSD, whole and cut")
  func compressedPhotoshop() throws {
    let type = "image/vnd.adobe.photoshop"
    let bytes = OldPictures.photoshop(mode: 3, planes: [30, 20, 10], isCompressed: true)
    let picture = try OldFile(bytes, type).decode()
    #expect(SeenPicture(picture)?.first == [30, 20, 10] && picture.damage == nil)
    expectDamage(bytes, type)
  }

  @Test("The profile and the orientation of a PSD are handed out")
  func photoshopResources() throws {
    let profile = MatrixProfile.adobeRGB.bytes
    let exif: [UInt8] =
      Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
    let bytes = OldPictures.photoshop(
      mode: 3, planes: [1, 2, 3],
      resources: OldPictures.resource(1039, profile) + OldPictures.resource(1058, exif))
    let picture = try OldFile(bytes, "image/vnd.adobe.photoshop").decode()
    #expect(picture.profile == profile)
    #expect(picture.orientation == 6)
  }

  @Test("Neither content nor name chooses another coder")
  func forced() throws {
    let vector = Array("push graphic-context\nviewbox 0 0 9 9\npop graphic-context\n".utf8)
    let drawing = Array("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>".utf8)
    let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    for bytes in [vector, drawing, png + OldPictures.zeros(100)] {
      for type in ["image/x-pcx", "image/x-sgi", "image/vnd.adobe.photoshop", "image/x-xpixmap"] {
        #expect { try OldFile(bytes, type).decode() } throws: {
          ($0 as? DecoderError)?.code == .undecodable
        }
      }
    }
    for name in ["mvg:x[0]", "@list", "%d.msl", "|id", "x.pdf"] {
      let file = try OldFile(OldPictures.pcx(color: [30, 20, 10]), "image/x-pcx", name: name)
      #expect(SeenPicture(try file.decode())?.first == [30, 20, 10], "\(name)")
    }
    for type in ["image/svg+xml", "image/jpeg", "application/pdf", "BMP", ""] {
      #expect { try OldFile(vector, type).decode() } throws: {
        ($0 as? DecoderError)?.code == .undecodable
      }
    }
  }

  @Test("A cancelled job ends")
  func cancelled() throws {
    for (type, bytes) in [
      ("image/x-pcx", OldPictures.pcx(color: [30, 20, 10])),
      ("image/bmp", OldPictures.bitmap(bits: 24, OldPictures.zeros(16))),
      ("image/x-tga", OldPictures.targa(origin: 0, isCompressed: true)),
    ] {
      #expect { try OldFile(bytes, type).decode(isCancelled: { true }) } throws: {
        ($0 as? DecoderError)?.code == .cancelled
      }
    }
  }
}
