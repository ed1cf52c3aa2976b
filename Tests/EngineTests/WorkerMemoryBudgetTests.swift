import PipelineModel
import Synchronization
import Testing

@testable import PluginHost

@Suite("The memory that workers share")
struct WorkerMemoryBudgetTests {
  /// Which instances were ended, by their places.
  private final class Ended: Sendable {
    let instances = Mutex<[Int]>([])
  }

  private func budget(_ instances: Int) -> (WorkerMemoryBudget, Ended) {
    let budget = WorkerMemoryBudget(most: ByteSize(bytes: 100))
    let ended = Ended()
    for instance in 0..<instances {
      budget.add(instance) { _ in ended.instances.withLock { $0.append(instance) } }
    }
    return (budget, ended)
  }

  @Test("Nobody is ended as long as all together keep to it")
  func enough() {
    let (budget, ended) = budget(2)
    budget.note(0, bytes: 60, isIdle: false)
    budget.note(1, bytes: 40, isIdle: false)
    #expect(ended.instances.withLock { $0 } == [])
  }

  @Test("The largest is ended, whoever is looked at, and nobody else before it is gone")
  func largest() {
    let (budget, ended) = budget(3)
    budget.note(0, bytes: 60, isIdle: false)
    budget.note(1, bytes: 30, isIdle: false)
    budget.note(2, bytes: 20, isIdle: false)
    budget.note(1, bytes: 35, isIdle: false)
    #expect(ended.instances.withLock { $0 } == [0])
  }

  @Test("One that has nothing to do is ended before one that works")
  func idle() {
    let (budget, ended) = budget(2)
    budget.note(0, bytes: 30, isIdle: true)
    budget.note(1, bytes: 80, isIdle: false)
    #expect(ended.instances.withLock { $0 } == [0])
  }

  @Test("One that is alone is left to its own limit")
  func alone() {
    let (budget, ended) = budget(2)
    budget.note(0, bytes: 200, isIdle: false)
    #expect(ended.instances.withLock { $0 } == [])
  }
}
