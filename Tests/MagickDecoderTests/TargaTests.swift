import Containers
import PictureDecoding
import PipelineModel
import Testing

@Suite("Old pictures: TGA", .timeLimit(.minutes(1)))
struct TargaTests {
  @Test("The first pixel is put to the upper left", arguments: 0...3, [false, true])
  func origin(origin: Int, isCompressed: Bool) throws {
    let bytes = OldPictures.targa(origin: origin, isCompressed: isCompressed)
    let picture = try OldFile(bytes, "image/x-tga").decode()
    let corners = stride(from: 0, to: 12, by: 3).flatMap {
      OldPictures.corners[$0..<($0 + 3)] + [128]
    }
    #expect(SeenPicture(picture)?.pixels == corners && picture.damage == nil)
    let cut = try OldFile(Array(bytes.dropLast()), "image/x-tga").decode()
    #expect(cut.damage != nil)
    let facts = try OldFile(bytes, "image/x-tga").facts()
    #expect(facts["width"] == 2 && facts["alpha"] == true)
  }

  @Test("More pixels than the limits are refused before anything is read")
  func manyPixels() throws {
    for (isCompressed, side) in [(false, 65_535), (true, 65_535), (true, 12_000)] {
      var bytes = OldPictures.targa(origin: 0, isCompressed: isCompressed)
      bytes.replaceSubrange(
        12..<16, with: OldPictures.little(side, 2) + OldPictures.little(side, 2))
      // Enough for the bytes that this many pixels need at least.
      let file = try OldFile(bytes + OldPictures.zeros(1_000_000), "image/x-tga")
      #expect { try file.decode() } throws: { ($0 as? DecoderError)?.code == .tooLarge }
      #expect { try file.facts() } throws: { ($0 as? DecoderError)?.code == .tooLarge }
    }
  }

  @Test("Pixels of sixteen bits, with and without a map")
  func sixteenBits() throws {
    // Red, green, blue and white, from the top.
    let values = [0x7C00, 0x03E0, 0x001F, 0x7FFF].flatMap { OldPictures.little($0, 2) }
    func header(_ mapped: Bool) -> [UInt8] {
      let map =
        mapped ? OldPictures.little(0, 2) + OldPictures.little(4, 2) + [16] : [0, 0, 0, 0, 0]
      return [0, mapped ? 1 : 0, mapped ? 1 : 2] + map + OldPictures.zeros(4)
        + OldPictures.little(2, 2) + OldPictures.little(2, 2) + [mapped ? 8 : 16, 0x20]
    }
    for bytes in [header(false) + values, header(true) + values + [0, 1, 2, 3]] {
      #expect(
        SeenPicture(try OldFile(bytes, "image/x-tga").decode())?.pixels == OldPictures.corners)
    }
    // Beyond the map is black.
    let beyond = try OldFile(header(true) + values + [9, 1, 2, 3], "image/x-tga").decode()
    #expect(SeenPicture(beyond)?.first == [0, 0, 0])
  }

  @Test("Pixels of one bit, in rows that begin with a byte", arguments: 0...3)
  func oneBit(origin: Int) throws {
    // The left pixel of the first row as stored, and all but it in the second.
    let header =
      [0, 0, 3] + OldPictures.zeros(9) + OldPictures.little(10, 2) + OldPictures.little(2, 2)
      + [1, UInt8(origin << 4)]
    let file = try OldFile(header + [0x80, 0, 0x7F, 0xC0], "image/x-tga")
    let rows = [[255] + OldPictures.zeros(9), [0] + [UInt8](repeating: 255, count: 9)]
    let turned = rows.map { origin & 1 != 0 ? $0.reversed() : $0 }
    let wanted = origin & 2 != 0 ? turned : turned.reversed()
    let picture = try file.decode()
    let seen = try #require(SeenPicture(picture))
    #expect(seen.bands == 1 && seen.pixels == wanted.flatMap(\.self) && picture.damage == nil)
    #expect(try file.facts()["bitDepth"] == 1)
    let cut = try OldFile(header + [0x80, 0, 0x7F], "image/x-tga").decode()
    #expect(cut.damage != nil)
    // Runs of bits are not known.
    let runs = try OldFile([0, 0, 11] + header.dropFirst(3) + [0, 0x80, 0, 0x80], "image/x-tga")
    #expect { try runs.decode() } throws: { ($0 as? DecoderError)?.code == .undecodable }
  }

  @Test("What is no TGA is refused")
  func foreign() throws {
    for bytes in [Array("text that is long enough".utf8), OldPictures.zeros(100), []] {
      #expect { try OldFile(bytes, "image/x-tga").decode() } throws: {
        ($0 as? DecoderError)?.code == .undecodable
      }
    }
  }
}
