import Testing

@testable import Ingest

@Suite("Where the lines begin that a catalog keeps of the manifest")
struct ManifestTailStartTests {
  private func start(
    _ copied: Int64, _ kept: ClosedRange<Int64>?, _ newest: Int64
  ) -> (after: Int64, isAnew: Bool) {
    let start = ManifestTailStart(copied: copied, kept: kept, newest: newest)
    return (start.after, start.isAnew)
  }

  @Test("They follow those that are copied or kept, without a gap")
  func follows() {
    #expect(start(0, nil, 0) == (0, false))
    #expect(start(0, nil, 9) == (0, false))
    #expect(start(5, nil, 9) == (5, false))
    #expect(start(5, 6...8, 9) == (8, false))
    #expect(start(5, 2...8, 9) == (8, false))
    #expect(start(5, 2...3, 9) == (5, false))
    // The copies that the kept ones follow are in a bucket that the originals have left.
    #expect(start(0, 6...8, 9) == (0, true))
    // A manifest that was put back has none of the later ones.
    #expect(start(12, nil, 9) == (9, false))
  }

  @Test("Of a library that was never copied the last ones are kept")
  func limited() {
    let limit = ManifestTailStart.limit
    #expect(start(0, nil, limit + 5) == (5, false))
    #expect(start(0, 1...3, limit + 5) == (5, true))
    #expect(start(0, 1...8, limit + 5) == (8, false))
    #expect(start(3, nil, limit + 3) == (3, false))
  }
}
