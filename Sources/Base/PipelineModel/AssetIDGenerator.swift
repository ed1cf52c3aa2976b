import Synchronization

/// A source of identifiers that sort in order of creation.
///
/// When the clock stands still or goes back, it increments the last identifier instead (RFC 9562,
/// section 6.2, method 2). Starting after the newest known key keeps the order across restarts and
/// clock jumps.
public final class AssetIDGenerator: Sendable {
  private struct State {
    var milliseconds: UInt64
    var random: (high: UInt64, low: UInt64)
  }

  private let state: Mutex<State>
  private let clock: @Sendable () -> UInt64

  /// Creates a generator whose identifiers all sort after `newest`.
  ///
  /// - Parameters:
  ///   - newest: the greatest identifier in use, if any.
  ///   - clock: milliseconds since 1970.
  public init(after newest: AssetID? = nil, clock: @escaping @Sendable () -> UInt64) {
    self.clock = clock
    // A full counter, so that the first key has a later millisecond than `newest`.
    state = Mutex(
      State(milliseconds: newest?.milliseconds ?? 0, random: (0xFFF, 0x3FFF_FFFF_FFFF_FFFF)))
  }

  /// Creates the next identifier.
  public func next() -> AssetID {
    let now = clock() & 0xFFFF_FFFF_FFFF
    return state.withLock { state in
      if now > state.milliseconds {
        state.milliseconds = now
        state.random = Self.freshRandom()
      } else {
        // 62 low bits and 12 high bits form one counter.
        let (low, carry) = state.random.low.addingReportingOverflow(UInt64.random(in: 1...1 << 32))
        state.random.low = low & 0x3FFF_FFFF_FFFF_FFFF
        if carry || low > 0x3FFF_FFFF_FFFF_FFFF { state.random.high &+= 1 }
        if state.random.high > 0xFFF {
          state.milliseconds += 1
          state.random = Self.freshRandom()
        }
      }
      return Self.assemble(state)
    }
  }

  /// Leaves the counter's top bit clear, as room for increments.
  private static func freshRandom() -> (high: UInt64, low: UInt64) {
    (UInt64.random(in: 0...0x7FF), UInt64.random(in: 0...0x3FFF_FFFF_FFFF_FFFF))
  }

  private static func assemble(_ state: State) -> AssetID {
    let high = state.milliseconds << 16 | 0x7000 | state.random.high
    let low = 0x8000_0000_0000_0000 | state.random.low
    let bytes = [high, low].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) }
    }
    return AssetID(sixteen: bytes)
  }
}
