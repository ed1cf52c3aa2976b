import Fixtures
import Foundation
import Testing

/// What a program that runs has in memory, looked at all the time. Source: proc_pid_status(5).
struct MemoryMonitor {
  /// Its resident size in KiB, each tenth of a second.
  private(set) var samples: [Int] = []
  /// The most that it ever was, in KiB.
  private(set) var peak = 0

  /// Waits for the end of a program, looking at it meanwhile.
  mutating func wait(
    for run: BuiltProgramRun, within seconds: Double
  ) throws -> BuiltProgramOutcome {
    let end = ContinuousClock.now + .seconds(seconds)
    while run.isRunning, ContinuousClock.now < end {
      if let status = Self.status(of: run.process), status.resident > 0 {
        samples.append(status.resident)
        peak = max(peak, status.peak)
      }
      usleep(100_000)
    }
    return try run.wait(within: 1)
  }

  /// The median between two parts of the time that it ran, such as 0.25 and 0.5.
  func median(from: Double, to: Double) -> Int {
    let part = samples[
      Int(Double(samples.count) * from)..<Int(Double(samples.count) * to)
    ].sorted()
    return part.isEmpty ? 0 : part[part.count / 2]
  }

  private static func status(of process: Int32) -> (resident: Int, peak: Int)? {
    // It may have ended since.
    guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else {
      return nil
    }
    func value(_ key: String) -> Int {
      let line = text.split(separator: "\n").first { $0.hasPrefix(key + ":") }
      return line?.split(whereSeparator: { " \t".contains($0) }).dropFirst().first
        .flatMap { Int($0) } ?? 0
    }
    return (value("VmRSS"), value("VmHWM"))
  }
}
