import Dispatch
import Synchronization

/// A line on a terminal that shows what is going on, drawn anew where it has changed.
final class ProgressBar: Sendable {
  private let console: Console
  private let line: @Sendable () -> String
  private let interval: DispatchTimeInterval
  private let isOver = Atomic(false)
  private let last = Mutex("")
  private let queue = DispatchQueue(label: "pipeline.progress")

  /// - Parameters:
  ///   - interval: how often the line is asked for; a tenth of a second by default.
  ///   - line: what there is to show.
  init(
    console: Console, every interval: DispatchTimeInterval = .milliseconds(100),
    line: @escaping @Sendable () -> String
  ) {
    self.console = console
    self.interval = interval
    self.line = line
  }

  /// Begins to draw; does nothing off a terminal.
  func begin() {
    guard console.isTerminal, !console.isJSON, !console.isQuiet else { return }
    tick()
  }

  /// Stops drawing and wipes the line.
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
      // A message wipes the line, so that it has to be drawn although it is the same.
      if isNew || !console.isDrawn { console.draw(text) }
      tick()
    }
  }
}
