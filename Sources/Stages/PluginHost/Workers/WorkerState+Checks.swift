import Files
import Glibc
import PipelinePlugin

/// Checks of a worker's resources. Each returns the signal to send, if any.
extension WorkerState {
  /// Checks what a worker's processes use.
  ///
  /// - Parameters:
  ///   - usage: `nil` if there are none; the worker's end is handled elsewhere.
  ///   - turn: the turn in which they were measured.
  mutating func check(_ usage: ProcessUsage?, in turn: Int, at now: Instant = .now) -> Int32? {
    let excess = usage.flatMap(limits.verdict)
    if case .leaving(_, _, let killAt) = phase {
      // The first signal is lost if there was no process yet. A worker that was asked to end but
      // takes what others need is killed at once.
      let isDue = killAt.map { now >= $0 } ?? true
      return isDue || excess != nil ? SIGKILL : nil
    }
    guard turn == self.turn else { return nil }
    if let failure = silence(at: now) ?? excess { return exceed(failure) }
    let time = now - since
    switch phase {
    case .settingUp where time > .seconds(policy.patience):
      let text =
        "The plugin \(manifest.id) gave no answer for \(Int(policy.patience)) seconds while it was "
        + "set up. `pipeline plugins test` checks it."
      return leave(because: PluginFailure(.environment, text))
    case .asked where time > .seconds(policy.patience):
      return leave()
    case .idle:
      return checkIdle(usage?.processorSeconds, time)
    case .working:
      return checkJob(usage?.processorSeconds, at: now)
    case .none, .settingUp, .asked, .leaving:
      return nil
    }
  }

  /// Checks what was found of a worker's files: which limit they exceed, or why that is unknown.
  ///
  /// - Parameter turn: the turn in which they were read.
  mutating func check(
    _ files: Result<PluginFailure?, FileError>, in turn: Int, at now: Instant = .now
  ) -> Int32? {
    guard turn == self.turn else { return nil }
    switch (files, phase) {
    // A folder that changes while it is read is read again next time. While the worker is idle,
    // there is no reason for it to change.
    case (.failure, .idle): return leave()
    case (.success(let failure?), .working):
      return leave(because: failure, killAt: now + .seconds(policy.grace))
    case (.success(let failure?), _): return exceed(failure)
    case (.failure, _), (.success(nil), _): return nil
    }
  }

  /// Ends a worker that exceeds a limit. No file is to blame for the set-up.
  mutating func exceed(_ failure: PluginFailure) -> Int32? {
    guard case .settingUp = phase else { return leave(because: failure) }
    let text = "The plugin \(manifest.id) exceeded a limit during setup. \(failure.reason)"
    return leave(because: PluginFailure(.environment, text))
  }

  /// The seconds until the next check.
  ///
  /// - Parameter busy: how many they are while there is a request.
  func interval(busy: Double, at now: Instant = .now) -> Double {
    guard case .idle = phase else { return busy }
    // Less often the longer it lasts: watching an idle worker has no measurable cost.
    let seconds = Double((now - since).components.seconds)
    return min(max(policy.idleInterval, seconds), policy.mostIdleInterval)
  }

  /// A failure to answer by a worker that runs, but has closed its standard output.
  private func silence(at now: Instant) -> PluginFailure? {
    guard let outputClosedAt, now - outputClosedAt > .seconds(policy.closing) else { return nil }
    return PluginFailure(
      .transient,
      "It was ended: it closed its output, and could give no answer however long it may take.")
  }

  /// Ends an idle worker that keeps working or has been idle for long.
  private mutating func checkIdle(_ seconds: Double?, _ time: Duration) -> Int32? {
    // Cleaning up after a job takes a moment; unsolicited work continues.
    let isTooMuch = used(seconds) > policy.idleInterval / 4
    processorSeconds = seconds
    return isTooMuch || time > .seconds(policy.mostIdleTime) ? leave() : nil
  }

  private mutating func checkJob(_ seconds: Double?, at now: Instant) -> Int32? {
    processorSeconds = processorSeconds ?? seconds
    return limits.verdict(time: now - since, processorSeconds: used(seconds), wanted: wantedCPU)
      .flatMap { leave(because: $0, killAt: now + .seconds(policy.grace)) }
  }

  /// The processor time since it was noted, if both are known.
  private func used(_ seconds: Double?) -> Double {
    guard let seconds, let processorSeconds else { return 0 }
    return seconds - processorSeconds
  }
}
