import CPipelinePlugin
package import PipelinePlugin
import Synchronization

/// Carries cancellation, progress, limits and log lines between host and plugin during a job.
package final class JobControl: Sendable {
  private let cancelled = Atomic(false)
  private let givenUp = Atomic(false)
  private struct Listener {
    var onCancel: (@Sendable () -> Void)?
  }
  // A struct, because a closure stored directly in the mutex is wrapped again on each access.
  // Source: github.com/swiftlang/swift/issues/91348.
  private let listener = Mutex(Listener())
  /// Receives a line of the plugin's log.
  let log: @Sendable (PluginHost.LogLevel, String) -> Void
  private let progress: @Sendable (Double) -> Void
  private let limit: @Sendable (Double) -> Void

  /// Creates the control of one job.
  ///
  /// - Parameters:
  ///   - log: receives the plugin's log lines, on any thread.
  ///   - progress: receives the completed fraction, from 0 to 1, on any thread.
  ///   - limit: receives the most seconds of processor time that the plugin wants, on any thread.
  package init(
    log: @escaping @Sendable (PluginHost.LogLevel, String) -> Void = { _, _ in },
    progress: @escaping @Sendable (Double) -> Void = { _ in },
    limit: @escaping @Sendable (Double) -> Void = { _ in }
  ) {
    self.log = log
    self.progress = progress
    self.limit = limit
  }

  /// Whether the plugin was asked to stop.
  package var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

  /// Whether the reason is that the program is ending, so the job itself is not at fault.
  package var isGivenUp: Bool { givenUp.load(ordering: .relaxed) }

  /// Asks the plugin to stop.
  package func cancel() {
    guard !cancelled.exchange(true, ordering: .relaxed) else { return }
    // Called after the lock is released.
    let tell = listener.withLock { $0.onCancel }
    tell?()
  }

  /// Asks the plugin to stop because the program is ending.
  package func giveUp() {
    givenUp.store(true, ordering: .relaxed)
    cancel()
  }

  /// Sets the body to call, once, when the job is cancelled.
  package func onCancel(_ body: @escaping @Sendable () -> Void) {
    listener.withLock { $0.onCancel = body }
    if isCancelled { body() }
  }

  /// Receives the plugin's progress; ignores values outside 0...1.
  package func report(_ fraction: Double) {
    if fraction >= 0, fraction <= 1 { progress(fraction) }
  }

  /// Receives the most processor time that the plugin wants to use; ignores what JSON can't express.
  func limit(cpu seconds: Double) {
    if seconds.isFinite { limit(seconds) }
  }
}

/// The functions that this program offers to plugins, as a C table that lives as long as the
/// process.
enum HostTable {
  /// The table. The caller of `process` keeps `job`, a `JobControl`, alive.
  static var pointer: UnsafePointer<pipeline_host>? { UnsafePointer(bitPattern: address) }

  private static let address: UInt = {
    let table = UnsafeMutablePointer<pipeline_host>.allocate(capacity: 1)
    table.initialize(
      to: pipeline_host(
        abi: UInt32(PIPELINE_PLUGIN_ABI),
        struct_size: UInt32(MemoryLayout<pipeline_host>.size),
        log: { job, level, message in
          guard let control = HostTable.control(job) else { return }
          let bytes = UnsafeRawBufferPointer(
            start: message.bytes, count: Int(min(message.length, 65536)))
          let known = PluginHost.LogLevel(rawValue: level) ?? .info
          control.log(known, String(decoding: bytes, as: UTF8.self))
        },
        progress: { job, fraction in HostTable.control(job)?.report(fraction) },
        cancelled: { job in HostTable.control(job)?.isCancelled == true ? 1 : 0 },
        limit_cpu: { job, seconds in HostTable.control(job)?.limit(cpu: seconds) }))
    return UInt(bitPattern: table)
  }()

  private static func control(_ job: UnsafeMutableRawPointer?) -> JobControl? {
    job.map { Unmanaged<JobControl>.fromOpaque($0).takeUnretainedValue() }
  }
}
