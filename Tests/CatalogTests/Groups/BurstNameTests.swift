import PipelineModel
import Testing

@testable import Catalog

/// What names say of bursts.
@Suite("Names of bursts", .timeLimit(.minutes(1)))
struct BurstNameTests {
  private func series(_ path: String) -> String? {
    BurstName(BytePath(path)).map { String(decoding: $0.series, as: UTF8.self) }
  }

  @Test("Names of phones say to which burst a picture belongs, and which one stands for it")
  func names() throws {
    for names in [
      ["a/IMG_20200101_120000_BURST000_COVER.jpg", "a/IMG_20200101_120000_BURST012.jpg"],
      ["IMAG0001_BURST002_COVER.jpg", "IMAG0001_BURST1.JPG"],
      [
        "00000IMG_00000_BURST20200101120000123_COVER.jpg",
        "00001IMG_00001_BURST20200101120000123.jpg",
      ],
      ["DSC_0001_BURST20180101120000123_COVER.JPG", "DSC_0002_BURST20180101120000123.JPG"],
      ["PXL_20200101_120000123.BURST-01.COVER.jpg", "PXL_20200101_120000123.BURST-02.jpg"],
    ] {
      let (cover, other) = (
        try #require(BurstName(BytePath(names[0]))), try #require(BurstName(BytePath(names[1])))
      )
      #expect(cover.series == other.series && cover.isCover && !other.isCover, "\(names)")
      #expect(cover.leastFrames == 2)
    }
    #expect(BurstName("20200101_120000_001.jpg")?.leastFrames == 3)
    #expect(series("d/20200101_120000_001.jpg") == series("d/20200101_120000_012.jpg"))
  }

  @Test("Other folders, other times and other names are other bursts, or none")
  func others() {
    #expect(series("a/X_BURST001.jpg") != series("b/X_BURST001.jpg"))
    #expect(series("X_BURST001.jpg") != series("Y_BURST001.jpg"))
    #expect(
      series("00000IMG_00000_BURST20200101120000123.jpg")
        != series("00001IMG_00001_BURST20200101120000124.jpg"))
    for name in [
      "IMG_0001.JPG", "BURST.jpg", "_BURST001.jpg", "a/_BURST001.jpg", "X_BURST.jpg", "X_COVER.jpg",
      "X_BURST12345.jpg", "X_BURST123456789012345678901.jpg", "20201301_120000_001.jpg",
      "20200101_250000_001.jpg", "20200101_120000_01.jpg", "20200101_120000_0001.jpg",
      "x20200101_120000_001.jpg", "20200101_120000.jpg", "20200101_120000_001_COVER.jpg", "001.jpg",
      "",
    ] {
      #expect(series(name) == nil, "\(name)")
    }
  }
}
