import Catalog
import Dispatch
import Engine
import LibrarySession
import PipelineModel
import Records
import Synchronization

/// A progress line on a terminal, redrawn when it changes.
final class ProgressBar: Sendable {
  private let console: Console
  private let line: @Sendable () -> String
  private let interval: DispatchTimeInterval
  private let isOver = Atomic(false)
  private let last = Mutex("")
  private let queue = DispatchQueue(label: "pipeline.progress")

  /// - Parameters:
  ///   - interval: the time between updates; a tenth of a second by default.
  ///   - line: returns the text to show.
  init(
    console: Console, every interval: DispatchTimeInterval = .milliseconds(100),
    line: @escaping @Sendable () -> String
  ) {
    self.console = console
    self.interval = interval
    self.line = line
  }

  /// Starts drawing; does nothing off a terminal.
  func begin() {
    guard console.isTerminal, !console.isJSON, !console.isQuiet else { return }
    tick()
  }

  /// Stops drawing and erases the line.
  func end() {
    isOver.store(true, ordering: .relaxed)
    queue.sync { console.wipe() }
  }

  private func tick() {
    queue.asyncAfter(deadline: .now() + interval) { [self] in
      guard !isOver.load(ordering: .relaxed) else { return }
      let text = line()
      let isNew = last.withLock { last in
        defer { last = text }
        return last != text
      }
      // A message erases the line, so an unchanged line may need redrawing.
      if isNew || !console.isDrawn { console.draw(text) }
      tick()
    }
  }
}

/// A progress line of work that reports each of its steps, drawn at most ten times a second.
final class StepProgress {
  private let console: Console
  private var last = ContinuousClock().now
  private static let interval = Duration.milliseconds(100)

  init(_ console: Console) { self.console = console }

  /// Draws the line on a terminal if the interval has passed.
  func draw(_ text: @autoclosure () -> String) {
    guard console.isTerminal, !console.isJSON, !console.isQuiet else { return }
    let now = ContinuousClock().now
    guard now - last >= Self.interval else { return }
    last = now
    console.draw(text())
  }
}

/// The texts of progress lines.
enum RunProgress {
  /// The line of `run` and `import`.
  ///
  /// - Parameters:
  ///   - backlog: jobs that were due before the run began.
  ///   - seconds: how long the run has taken so far.
  static func line(_ counts: RunCounts, stages: Int, backlog: Int, seconds: Double) -> String {
    let ended = counts[.done] + counts[.skipped] + counts[JobEvent.Outcome.failed]
    let jobs = max(ended, backlog + counts[.imported] * stages)
    let files = counts.files.values.reduce(0, +)
    guard jobs > 0 else { return "\(counted(files, "file")) looked at" }
    let rate = Double(ended) / max(seconds, 0.001)
    let width = 24
    let filled = width * ended / jobs
    let bar =
      String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    var line = "\(bar) \(ended)/\(jobs) jobs · \(counted(files, "file"))"
    if ended == jobs {
      // The run is not over: files may have to settle, or last results await writing.
      line += " · waiting for more files"
    } else if rate > 0 {
      let left = Int((Double(jobs - ended) / rate).rounded(.up))
      line += " · \(Int(rate.rounded()))/s · \(max(left, 1)) s left"
    }
    return line
  }

  /// The line of `watch`.
  static func activity(_ counts: RunCounts) -> String {
    guard counts.hasAny else { return "Nothing new" }
    let files = counts.words([.imported, .duplicate, .settling, .rejected, .failed])
    let done = counts[.done] + counts[.skipped]
    let jobs =
      (done > 0 ? ["\(counted(done, "job")) done"] : []) + counts.words([JobEvent.Outcome.failed])
    return (files + jobs).joined(separator: " · ")
  }
}
