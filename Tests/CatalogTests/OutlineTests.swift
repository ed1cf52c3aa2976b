import Catalog
import PipelineModel
import Query
import Records
import Testing

@Suite("Outlines of a search", .timeLimit(.minutes(2)))
struct OutlineTests {
  @Test(
    "Proportions are a byte, exact to 2 %",
    arguments: [
      (nil, 1.0, 0), (1, nil, 0), (0, 1, 0), (1, 1, 128), (2, 1, 160), (1, 2, 96), (3, 2, 147),
      (1e9, 1, 255), (1, 1e9, 1),
    ] as [(Double?, Double?, UInt8)])
  func aspects(width: Double?, height: Double?, byte: UInt8) {
    #expect(AssetOutline.aspect(width, height) == byte)
  }

  @Test("Days are runs, and every 512th key is there")
  func runs() throws {
    var outline = AssetOutline(keepsDays: true)
    let day: Int64 = 86_400_000_000
    let key = try #require(AssetID(bytes: Array(repeating: 1, count: 16)))
    for (taken, count) in [(20 * day + 5, 600), (20 * day, 1), (-1, 2), (nil, 30)]
      as [(Int64?, Int)]
    {
      for _ in 0..<count {
        try outline.append(width: 3, height: 2, taken: taken) { () throws(CatalogError) in
          key
        }
      }
    }
    #expect(outline.days.map(\.day) == [20, -1, nil] && outline.days.map(\.count) == [601, 2, 30])
    #expect(outline.count == 633 && outline.keys.count == 2 && outline.aspects.count == 633)
  }
}
