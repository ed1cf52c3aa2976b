import CLinux
import Glibc
package import PipelineModel
import Spawn
import Synchronization

/// A program started by this process, as the leader of its own process group.
///
/// Until it is reaped, its ID can't be reused, so signals never reach a stranger.
package final class ChildProcess: Sendable {
  /// How a process ended. Source: wait(2).
  package enum ExitStatus: Hashable, Sendable {
    case exit(Int32)
    case signal(Int32)
  }

  private struct State {
    var ending: ExitStatus?
    var endedAt: ContinuousClock.Instant?
    /// Whether no process of the group is left.
    var isGroupGone = false
    var reapedSeconds = 0.0
  }

  /// The ID of the process and of its group.
  package let id: Int32
  /// Readable once the process has ended. Source: pidfd_open(2).
  package let watched: Descriptor
  private let state = Mutex(State())

  /// All started processes that are not gone.
  private static let living = Mutex<[Int32: ChildProcess]>([:])
  /// How long the kernel may take to end a process after SIGKILL.
  private static let patience = Duration.seconds(5)

  private init(id: Int32, watched: Descriptor) {
    self.id = id
    self.watched = watched
  }

  /// Starts a program as the leader of a process group.
  ///
  /// If it asks to be killed with its parent, the kernel means the *thread* that called this, which
  /// must therefore outlive it.
  ///
  /// - Parameter descriptors: its descriptors, beginning with standard input.
  package static func start(
    _ program: BytePath, arguments: [BytePath], environment: [BytePath], descriptors: [Descriptor]
  ) throws(FileError) -> ChildProcess {
    // Orphans of an ended process become this program's children, to be reaped.
    CurrentProcess.adoptOrphans()
    let id: Int32
    do throws(SpawnError) {
      id = try Program.start(
        program, arguments: arguments, environment: environment,
        descriptors: descriptors.map(\.number), leadsGroup: true)
    } catch {
      throw FileError("start", program, errno: error.number)
    }
    // Kept open until here.
    withExtendedLifetime(descriptors) {}
    do throws(FileError) {
      let number = try systemCall("watch", program) { pipeline_open_process(id) }
      let child = ChildProcess(id: id, watched: Descriptor(takingOver: number, path: program))
      living.withLock { $0[id] = child }
      return child
    } catch {
      // A process that can't be watched can't be ended in time, so end it now.
      kill(-id, SIGKILL)
      while waitpid(id, nil, 0) < 0, errno == EINTR {}
      throw error
    }
  }

  /// Kills all started processes and their groups, for a program that exits at once.
  package static func endAll() {
    for child in living.withLock({ Array($0.values) }) { child.signalGroup(SIGKILL) }
  }

  /// Sends a signal to the process and its group; does nothing once the process is reaped.
  package func signalGroup(_ number: Int32) {
    state.withLock { state in
      if state.ending == nil { kill(-id, number) }
    }
  }

  /// CPU seconds of the group's other processes that were reaped.
  package var reapedSeconds: Double { state.withLock { $0.reapedSeconds } }

  /// Reaps ended processes of the group without blocking; kills the others after the leader.
  ///
  /// - Returns: how the leader ended; `nil` while it or another process of the group is left.
  package func reap() -> ExitStatus? {
    let ending = state.withLock { state -> ExitStatus? in
      if state.isGroupGone { return state.ending }
      if state.ending == nil { reapHead(&state) }
      guard state.ending != nil, let endedAt = state.endedAt else { return nil }
      // While this finds a process, the group's ID can't be reused.
      while let found = wait(-id, &state) {
        if found == 0, ContinuousClock().now - endedAt < Self.patience { return nil }
        if found == 0 { break }
      }
      state.isGroupGone = true
      return state.ending
    }
    if ending != nil {
      Self.living.withLock { if $0[id] === self { $0[id] = nil } }
    }
    return ending
  }

  /// Whether the process itself has ended.
  package var hasEnded: Bool { state.withLock { $0.ending != nil } }

  private func reapHead(_ state: inout State) {
    while true {
      // Checked first, so that the leader is reaped last.
      let process = pipeline_ended_of_group(id)
      if process <= 0 { return }
      if process == id { break }
      _ = wait(process, &state)
    }
    // Sent while the ID is still taken. A process about to fork can't escape: the kernel delivers
    // the signal first. Source: kernel/fork.c, “recalc_sigpending” in copy_process.
    kill(-id, SIGKILL)
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    let number = status & 0x7F
    state.ending = number == 0 ? .exit(status >> 8 & 0xFF) : .signal(number)
    state.endedAt = ContinuousClock().now
  }

  /// Reaps a process, or one of a group, without blocking.
  ///
  /// - Returns: its ID; 0 if none has ended, `nil` if there is none.
  private func wait(_ process: Int32, _ state: inout State) -> Int32? {
    var usage = rusage()
    let found = wait4(process, nil, WNOHANG, &usage)
    guard found >= 0 else { return nil }
    if found > 0 {
      for time in [usage.ru_utime, usage.ru_stime] {
        state.reapedSeconds += Double(time.tv_sec) + Double(time.tv_usec) / 1e6
      }
    }
    return found
  }
}
