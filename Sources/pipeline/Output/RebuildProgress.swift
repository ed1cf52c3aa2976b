import PipelineModel

/// The progress line of `rebuild-catalog`, drawn ten times a second.
final class RebuildProgress {
  private let console: Console
  private var last = ContinuousClock().now
  private static let interval = Duration.milliseconds(100)

  init(_ console: Console) { self.console = console }

  /// Draws the line on a terminal if the interval has passed.
  func draw(_ read: Int64, of all: Int64) {
    guard console.isTerminal, !console.isJSON, !console.isQuiet else { return }
    let now = ContinuousClock().now
    guard now - last >= Self.interval else { return }
    last = now
    console.draw("\(read) of \(all) facts read")
  }
}
