/// Random numbers that can be had again. Source: SplitMix64, Steele et al. 2014.
struct SayingRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64, input: UInt64) {
    state = seed &* 0xD6E8_FEB8_6659_FD93 ^ input &* 0xA076_1D64_78BD_642F
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// Whether something happens that does so once in so many times.
  mutating func once(in times: Int) -> Bool { below(times) == 0 }

  mutating func any<Value>(of values: [Value]) -> Value { values[below(values.count)] }
}
