import Testing

@testable import Web

@Suite("Ranges of a file", .timeLimit(.minutes(1)))
struct ByteRangeTests {
  @Test(
    "A range is what RFC 9110 says",
    arguments: [
      (nil, ByteRange.whole), ("bytes=0-9", .part(0..<10)), ("bytes=90-", .part(90..<100)),
      ("bytes=90-200", .part(90..<100)), ("bytes=-10", .part(90..<100)),
      ("bytes=-200", .part(0..<100)), ("BYTES=5-5", .part(5..<6)), ("bytes=100-", .unsatisfiable),
      ("bytes=-0", .unsatisfiable), ("bytes=9-3", .whole), ("bytes=0-1,5-6", .whole),
      ("bytes=", .whole), ("bytes=-", .whole), ("bytes=+1-2", .whole), ("bytes=a-b", .whole),
      ("lines=0-9", .whole), ("bytes=0-999999999999999999", .part(0..<100)),
      ("bytes=0-99999999999999999999", .whole), ("0-9", .whole),
    ] as [(String?, ByteRange)])
  func header(text: String?, expected: ByteRange) {
    #expect(ByteRange(text, size: 100) == expected)
  }

  @Test("An empty file has no range", arguments: ["bytes=0-", "bytes=-1", "bytes=0-0"])
  func empty(text: String) {
    #expect(ByteRange(text, size: 0) == .unsatisfiable)
  }
}
