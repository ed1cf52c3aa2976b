import Files
import Glibc
import PipelineModel

/// Tells systemd how the program is, by its documented protocol. Source: sd_notify(3), “Notes”.
///
/// Without `$NOTIFY_SOCKET` it is silent. It may be used from any thread. A
/// message that can't be sent is lost: work does not depend on who watches it.
struct ServiceManager: Sendable {
  private let sender: DatagramSender?

  /// How often `ping` has to be called: half of what the manager waits for; `nil` if it
  /// does not wait for this process.
  let watchdogInterval: Duration?

  /// Finds the manager.
  ///
  /// - Parameters:
  ///   - environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` are read.
  ///   - process: the number of this process.
  init(environment: [String: String], process: Int32 = getpid()) {
    // Without a usable address nobody is there to tell of it.
    sender = environment["NOTIFY_SOCKET"].flatMap { try? DatagramSender(to: BytePath($0)) }
    watchdogInterval =
      sender == nil ? nil : Self.watchdogInterval(environment, process: process)
  }

  /// Source: sd_watchdog_enabled(3).
  private static func watchdogInterval(
    _ environment: [String: String], process: Int32
  ) -> Duration? {
    if let owner = environment["WATCHDOG_PID"], Int32(owner) != process { return nil }
    guard let text = environment["WATCHDOG_USEC"], let patience = Int64(text), patience > 1 else {
      return nil
    }
    return .microseconds(patience / 2)
  }

  /// Says that the program has started, or has finished reading its configuration again.
  func ready() { send("READY=1") }

  /// Says in a line what the program is doing; `systemctl status` shows it.
  func status(_ text: String) { send("STATUS=\(Self.line(text))") }

  /// Says that the configuration is being read again; `ready` ends that.
  func reloading() {
    // The time tells the manager that this answers its request and not an earlier one.
    send("RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.microseconds)")
  }

  /// Says that the program is ending.
  func stopping() { send("STOPPING=1") }

  /// Says that the program is alive.
  func ping() { send("WATCHDOG=1") }

  private func send(_ message: String) {
    // Nothing can be done about a manager that does not listen.
    try? sender?.send(Array(message.utf8))
  }

  /// The text without line breaks, each of which would begin another assignment.
  private static func line(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
  }
}
