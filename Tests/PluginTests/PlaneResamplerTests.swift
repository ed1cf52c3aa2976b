import Testing
import Zimg

@Suite("Resampling planes", .timeLimit(.minutes(1)))
struct PlaneResamplerTests {
  private func plane(
    _ width: Int, _ height: Int, _ value: (Int, Int) -> UInt8
  ) throws -> Plane {
    let plane = try Plane(width: width, height: height)
    for y in 0..<height {
      let row = plane.row(y)
      for x in 0..<width { row[x] = value(x, y) }
    }
    return plane
  }

  @Test(
    "One value stays this value in every size, down to a single one",
    arguments: [(640, 480, 64, 48), (641, 479, 640, 478), (3, 3, 2, 2), (7, 5, 1, 1)]
      + [(1, 1, 1, 1), (10_000, 1, 256, 1), (1, 9_999, 1, 3), (65, 63, 64, 1)])
  func flat(width: Int, height: Int, newWidth: Int, newHeight: Int) throws {
    let resampler = try PlaneResampler(from: (width, height), to: (newWidth, newHeight))
    for value in [UInt8(0), 1, 127, 254, 255] {
      let small = try resampler.resample(try plane(width, height) { _, _ in value })
      try #require(small.width == newWidth && small.height == newHeight)
      for y in 0..<newHeight {
        let row = small.row(y)
        #expect((0..<newWidth).allSatisfy { row[$0] == value }, "\(value) in row \(y)")
      }
    }
  }

  @Test("A gradient stays where it is, and whole")
  func gradient() throws {
    let before = try plane(1024, 256) { x, _ in UInt8(x / 4) }
    let after = try PlaneResampler(from: (1024, 256), to: (256, 64)).resample(before)
    for y in 0..<64 {
      let row = after.row(y)
      // The middle of four pixels; an edge has nothing beside it.
      #expect((4..<252).allSatisfy { abs(Int(row[$0]) - $0) <= 1 }, "row \(y)")
    }
  }

  @Test("A size that no picture has is refused with a sentence")
  func refused() {
    #expect(throws: ZimgError.self) { try PlaneResampler(from: (0, 5), to: (1, 1)) }
  }
}
