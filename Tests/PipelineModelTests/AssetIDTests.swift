import PipelineModel
import Synchronization
import Testing

@Suite("Keys of assets", .timeLimit(.minutes(1)))
struct AssetIDTests {
  /// A clock that tests set.
  private final class Clock: Sendable {
    let now: Mutex<UInt64>
    init(_ start: UInt64) { now = Mutex(start) }
    func set(_ value: UInt64) { now.withLock { $0 = value } }
    var read: @Sendable () -> UInt64 { { self.now.withLock { $0 } } }
  }

  private static let moment: UInt64 = 1_700_000_000_000

  @Test("A key has the version and variant of RFC 9562 and the time of its making")
  func layout() {
    let clock = Clock(Self.moment)
    let id = AssetIDGenerator(clock: clock.read).next()
    #expect(id.bytes.count == 16)
    #expect(id.bytes[6] >> 4 == 7)
    #expect(id.bytes[8] >> 6 == 0b10)
    #expect(id.milliseconds == Self.moment)
  }

  @Test("Keys ascend while the clock goes on, stands still and goes back")
  func ascending() {
    let clock = Clock(Self.moment)
    let ids = AssetIDGenerator(clock: clock.read)
    var last = ids.next()
    for round in 0..<20_000 {
      switch round % 100 {
      case 10: clock.set(Self.moment + UInt64(round))
      case 50: clock.set(Self.moment - 3_600_000)
      default: break
      }
      let next = ids.next()
      #expect(last < next, "round \(round)")
      #expect(next.bytes[6] >> 4 == 7 && next.bytes[8] >> 6 == 0b10)
      last = next
    }
  }

  @Test("A clock that never moves still gives ascending keys beyond one millisecond's room")
  func exhausted() throws {
    // The counter of this key has no room left.
    let full = try #require(AssetID("018bcfe5-6800-7fff-bfff-ffffffffffff"))
    let ids = AssetIDGenerator(after: full, clock: Clock(full.milliseconds).read)
    let next = ids.next()
    #expect(full < next)
    #expect(next.milliseconds == full.milliseconds + 1)
  }

  @Test(
    "The first key after the newest one sorts behind it, whatever the clock says",
    arguments: [-86_400_000, -1, 0, 1, 86_400_000])
  func afterNewest(offset: Int) {
    for _ in 0..<200 {
      let newest = AssetIDGenerator(clock: Clock(Self.moment).read).next()
      let clock = Clock(UInt64(Int(Self.moment) + offset))
      let ids = AssetIDGenerator(after: newest, clock: clock.read)
      let first = ids.next()
      #expect(newest < first)
      #expect(first < ids.next())
    }
  }

  @Test("Keys made on many threads are all different")
  func concurrent() async {
    let ids = AssetIDGenerator(clock: Clock(Self.moment).read)
    let made = await withTaskGroup(of: [AssetID].self) { group in
      for _ in 0..<8 { group.addTask { (0..<500).map { _ in ids.next() } } }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(made).count == 4000)
  }

  @Test("A key is written in lower case with dashes and read in either case")
  func text() throws {
    let text = "018bcfe5-68ab-7cde-8f01-23456789abcd"
    let id = try #require(AssetID(text))
    #expect(id.description == text)
    #expect(AssetID(text.uppercased()) == id)
    #expect(try JSONText.encode([id]) == "[\"\(text)\"]")
    #expect(try JSONText.decode([AssetID].self, from: "[\"\(text)\"]") == [id])
  }

  @Test(
    "Text that is no key is refused",
    arguments: [
      "", "018bcfe568ab7cde8f0123456789abcd", "018bcfe5-68ab-7cde-8f01-23456789abc",
      "018bcfe5-68ab-7cde-8f01-23456789abcg", "018bcfe568-ab-7cde-8f01-23456789abcd",
      "018bcfe5-68ab-7cde-8f01-23456789abcd ", "018bcfe5-68ab-7cde-8f01--3456789abcd",
    ])
  func refused(text: String) {
    #expect(AssetID(text) == nil)
    #expect(throws: DecodingError.self) {
      try JSONText.decode([AssetID].self, from: JSONText.encode([text]))
    }
  }
}
