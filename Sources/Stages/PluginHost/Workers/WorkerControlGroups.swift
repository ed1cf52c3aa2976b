package import Files
import PipelineModel
import Synchronization

/// The control groups of workers, if this program was delegated one.
///
/// Created before the first worker of any kind starts, because a group that is divided must have no
/// processes of its own.
package final class WorkerControlGroups: Sendable {
  /// The groups of this process.
  package static let shared = WorkerControlGroups()

  private struct State {
    var made = 0
    /// Groups whose last process was not quite gone.
    var leftovers: [ControlGroup] = []
  }

  /// The program's own group, divided; or why there is none, so that only sampling and rlimits
  /// enforce workers' limits.
  package let whole: Result<DelegatedControlGroup, DelegatedControlGroup.Absence>
  private let state = Mutex(State())

  private init() {
    whole = Result { () throws(DelegatedControlGroup.Absence) in
      let whole = try DelegatedControlGroup.find()
      do throws(FileError) {
        try whole.divide()
      } catch {
        throw .notDivided(error)
      }
      return whole
    }
  }

  /// Why a delegated group can't be divided; `nil` if it was, or if none was delegated.
  package var fault: FileError? {
    if case .failure(.notDivided(let error)) = whole { error } else { nil }
  }

  /// Creates a worker's group; `nil` if there are no groups.
  func make(_ limits: WorkerLimits) throws(FileError) -> ControlGroup? {
    guard case .success(let whole) = whole else { return nil }
    let number = state.withLock { state in
      state.made += 1
      return state.made
    }
    let group = try whole.makeGroup(BytePath("worker-\(number)"))
    do throws(FileError) {
      try group.limit(memoryBytes: limits.memory.bytes, threads: limits.threads)
    } catch {
      remove(group)
      throw error
    }
    return group
  }

  func remove(_ group: ControlGroup) {
    state.withLock { state in
      state.leftovers = (state.leftovers + [group]).filter { group in
        do throws(FileError) {
          try group.remove()
          return false
        } catch {
          // One of its processes is still ending: try again with the next group.
          return error.code == .busy
        }
      }
    }
  }
}
