import PipelineModel
import Testing

@Suite("Digests and hexadecimal digits", .timeLimit(.minutes(1)))
struct DigestTests {
  @Test("All byte values survive being written and read, in either case")
  func everyByte() {
    let bytes = (0...255).map { UInt8($0) }
    let text = Hexadecimal.encode(bytes)
    #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
    #expect(Hexadecimal.decode(Array(text.utf8)) == bytes)
    #expect(Hexadecimal.decode(Array(text.uppercased().utf8)) == bytes)
  }

  @Test(
    "What is no pair of digits is refused", arguments: ["0", "0g", "/0", ":0", "@A", "`a", "é"])
  func noDigits(text: String) {
    #expect(Hexadecimal.decode(Array(text.utf8)) == nil)
  }

  @Test("A digest has exactly 32 bytes")
  func length() throws {
    #expect(Digest(bytes: [UInt8](repeating: 1, count: 31)) == nil)
    #expect(Digest(bytes: [UInt8](repeating: 1, count: 33)) == nil)
    let digest = try #require(Digest(bytes: [UInt8](repeating: 0xAB, count: 32)))
    #expect(digest.hex == String(repeating: "ab", count: 32))
    #expect(Digest(digest.hex.uppercased()) == digest)
    #expect(Digest(String(digest.hex.dropLast(2))) == nil)
    #expect(Fingerprint(digest).short == String(repeating: "ab", count: 8))
  }

  @Test("A digest is a string of JSON, and a wrong one names itself")
  func json() throws {
    let digest = try #require(Digest(String(repeating: "0f", count: 32)))
    let text = try JSONText.encode(["digest": digest])
    #expect(text == "{\"digest\":\"\(digest.hex)\"}")
    #expect(try JSONText.decode([String: Digest].self, from: text) == ["digest": digest])
    #expect(throws: DecodingError.self) {
      try JSONText.decode([String: Digest].self, from: "{\"digest\":\"0f\"}")
    }
  }

  @Test("A file is the same by inode, size and modification time, not by its status change")
  func identity() {
    let file = FileIdentity(inode: 1, size: 2, modified: 3, changed: 4)
    var other = file
    other.changed = 5
    #expect(file.isSameFile(as: other) && file != other)
    for change: (inout FileIdentity) -> Void in [
      { $0.inode += 1 }, { $0.size += 1 }, { $0.modified += 1 },
    ] {
      var other = file
      change(&other)
      #expect(!file.isSameFile(as: other))
    }
  }
}
