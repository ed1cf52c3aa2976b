import Files
import Glibc
import PipelineModel

/// Notifies systemd of the program's state. Source: sd_notify(3), “Notes”.
///
/// It is silent without `$NOTIFY_SOCKET` and may be used from any thread. Messages that
/// can't be sent are lost: work does not depend on the manager.
package struct ServiceManager: Sendable {
  private let sender: DatagramSender?

  /// The interval for calling `ping`: half of the manager's timeout; `nil` if it has none for
  /// this process.
  let watchdogInterval: Duration?

  /// - Parameters:
  ///   - environment: supplies `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
  ///   - process: the ID of this process.
  package init(environment: [String: String], process: Int32 = getpid()) {
    // Without a usable address there is no manager to report the error to.
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

  /// Reports that the program has started or has finished reloading its configuration.
  func ready() { send("READY=1") }

  /// Reports in one line what the program is doing; `systemctl status` shows it.
  func status(_ text: String) { send("STATUS=\(Self.line(text))") }

  /// Reports that the configuration is being reloaded, until `ready`.
  func reloading() {
    // The time shows the manager that this answers its latest request.
    send("RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.microseconds)")
  }

  func stopping() { send("STOPPING=1") }

  func ping() { send("WATCHDOG=1") }

  private func send(_ message: String) {
    // Nothing can be done if the manager does not listen.
    try? sender?.send(Array(message.utf8))
  }

  /// Replaces line breaks, which would begin another assignment.
  private static func line(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
  }
}
