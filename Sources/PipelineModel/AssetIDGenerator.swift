import Synchronization

/// A source of identifiers that sort in the order in which they were made.
///
/// It never goes back: when the clock does, or stands still within a
/// millisecond, the last identifier is counted up instead (RFC 9562, section
/// 6.2, method 2). Starting it at the newest known key keeps that order across
/// restarts and clock jumps.
public final class AssetIDGenerator: Sendable {
  private struct State {
    var milliseconds: UInt64
    var random: (high: UInt64, low: UInt64)
  }

  private let state: Mutex<State>
  private let clock: @Sendable () -> UInt64

  /// Makes a generator whose identifiers all sort after `newest`.
  ///
  /// - Parameters:
  ///   - newest: the greatest identifier in use, if any.
  ///   - clock: milliseconds since 1970.
  public init(after newest: AssetID? = nil, clock: @escaping @Sendable () -> UInt64) {
    self.clock = clock
    // A counter without room, so that the first key is of a later millisecond than `newest`.
    state = Mutex(
      State(milliseconds: newest?.milliseconds ?? 0, random: (0xFFF, 0x3FFF_FFFF_FFFF_FFFF)))
  }

  /// Makes the next identifier.
  public func next() -> AssetID {
    let now = clock() & 0xFFFF_FFFF_FFFF
    return state.withLock { state in
      if now > state.milliseconds {
        state.milliseconds = now
        state.random = Self.freshRandom()
      } else {
        // 62 low bits and 12 high bits, counted up as one number.
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

  /// Leaves the top bit of the counter clear, so that it has room to count.
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
