package import Files
import PipelineModel
import Synchronization

/// The control groups of workers, where this program was given a group to divide.
///
/// Made before the first worker starts, one that is only asked what its plugin is included: a
/// group that is divided must have no processes of its own.
package final class WorkerGroups: Sendable {
  /// The ones of this process.
  package static let shared = WorkerGroups()

  private struct State {
    var made = 0
    /// Groups whose last process was not quite gone.
    var leftovers: [ControlGroup] = []
  }

  /// The program's own group, divided; or why there is none, so that workers are held to their
  /// limits by being looked at, and by rlimits, alone.
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

  /// Why a group that was given to this program can't be divided; `nil` where all is well, and
  /// where none was given.
  package var fault: FileError? {
    if case .failure(.notDivided(let error)) = whole { error } else { nil }
  }

  /// Makes the group of a worker; `nil` where there are none.
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

  /// Removes a group whose worker has ended.
  func remove(_ group: ControlGroup) {
    state.withLock { state in
      state.leftovers = (state.leftovers + [group]).filter { group in
        do throws(FileError) {
          try group.remove()
          return false
        } catch {
          // A process of it is being ended: it is tried again with the next one.
          return error.code == .busy
        }
      }
    }
  }
}
