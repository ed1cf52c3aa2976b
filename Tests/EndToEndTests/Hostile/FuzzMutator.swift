import Fixtures

/// Changes files at random, in the ways that parsers get wrong; the same for the same numbers.
struct FuzzMutator {
  private let samples: [FuzzSample]
  private var random: SeededRandom

  init(_ samples: [FuzzSample], random: SeededRandom) {
    self.samples = samples
    self.random = random
  }

  /// A changed copy of any of the samples.
  mutating func next() -> (sample: FuzzSample, bytes: [UInt8]) {
    let sample = any(of: samples)
    var bytes = sample.bytes
    for _ in 0..<(1 << Int.random(in: 0...3, using: &random)) { change(&bytes) }
    return (sample, Array(bytes.prefix(4096)))
  }

  private mutating func change(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else {
      bytes.append(byte())
      return
    }
    let at = Int.random(in: bytes.indices, using: &random)
    switch Int.random(in: 0..<8, using: &random) {
    case 0:
      bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1:
      bytes[at] = byte()
    case 2, 3:
      // Sizes, counts and offsets are what overflows.
      let size = any(of: [2, 4, 4, 8])
      let value = any(of: Self.numbers)
      let number = Bool.random(using: &random) ? big(value, size) : little(value, size)
      let end = min(at + size, bytes.count)
      bytes.replaceSubrange(at..<end, with: number.prefix(end - at))
    case 4:
      bytes.removeSubrange(at..<end(at, in: bytes))
    case 5:
      bytes.insert(contentsOf: bytes[at..<end(at, in: bytes)], at: at)
    case 6:
      for _ in 0..<Int.random(in: 1...16, using: &random) { bytes.insert(byte(), at: at) }
    default:
      // The head of one and the tail of another.
      let other = any(of: samples).bytes
      bytes.replaceSubrange(at..., with: other[Int.random(in: other.indices, using: &random)...])
    }
  }

  /// What lies at the edges of the types that numbers are put into.
  private static let numbers = [
    0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE,
    0xFFFF_FFFF, 0x1_0000_0000, .max, .min, -1,
  ]

  private mutating func byte() -> UInt8 {
    Bool.random(using: &random)
      ? any(of: [0, 1, 0x20, 0x7F, 0x80, 0xFF]) : UInt8.random(in: 0...255, using: &random)
  }

  private mutating func end(_ start: Int, in bytes: [UInt8]) -> Int {
    min(bytes.count, start + Int.random(in: 1...64, using: &random))
  }

  private mutating func any<Value>(of values: [Value]) -> Value {
    values[Int.random(in: values.indices, using: &random)]
  }
}
