import Dispatch
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
