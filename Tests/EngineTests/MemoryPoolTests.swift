import PipelineModel
import Synchronization
import Testing

@testable import PluginHost

@Suite("The memory that workers share")
struct MemoryPoolTests {
  /// Which lanes were ended, by their places.
  private final class Ended: Sendable {
    let lanes = Mutex<[Int]>([])
  }

  private func pool(_ lanes: Int) -> (MemoryPool, numbers: [Int], Ended) {
    let pool = MemoryPool(most: ByteSize(bytes: 100))
    let ended = Ended()
    let numbers = (0..<lanes).map { lane in
      pool.add { _ in ended.lanes.withLock { $0.append(lane) } }
    }
    return (pool, numbers, ended)
  }

  @Test("Nobody is ended as long as all together keep to it")
  func enough() {
    let (pool, numbers, ended) = pool(2)
    pool.note(numbers[0], bytes: 60, isIdle: false)
    pool.note(numbers[1], bytes: 40, isIdle: false)
    #expect(ended.lanes.withLock { $0 } == [])
  }

  @Test("The largest is ended, whoever is looked at, and nobody else before it is gone")
  func largest() {
    let (pool, numbers, ended) = pool(3)
    pool.note(numbers[0], bytes: 60, isIdle: false)
    pool.note(numbers[1], bytes: 30, isIdle: false)
    pool.note(numbers[2], bytes: 20, isIdle: false)
    pool.note(numbers[1], bytes: 35, isIdle: false)
    #expect(ended.lanes.withLock { $0 } == [0])
  }

  @Test("One that has nothing to do is ended before one that works")
  func idle() {
    let (pool, numbers, ended) = pool(2)
    pool.note(numbers[0], bytes: 30, isIdle: true)
    pool.note(numbers[1], bytes: 80, isIdle: false)
    #expect(ended.lanes.withLock { $0 } == [0])
  }

  @Test("One that is alone is left to its own limit")
  func alone() {
    let (pool, numbers, ended) = pool(2)
    pool.note(numbers[0], bytes: 200, isIdle: false)
    #expect(ended.lanes.withLock { $0 } == [])
  }
}
