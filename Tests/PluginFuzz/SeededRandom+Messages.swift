import Fixtures

extension SeededRandom {
  /// Numbers for one input of a run.
  init(seed: UInt64, input: UInt64) {
    self.init(seed: seed &* 0xD6E8_FEB8_6659_FD93 ^ input &* 0xA076_1D64_78BD_642F)
  }

  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// Whether something happens that does so once in so many times.
  mutating func once(in times: Int) -> Bool { below(times) == 0 }

  mutating func any<Value>(of values: [Value]) -> Value { values[below(values.count)] }
}
