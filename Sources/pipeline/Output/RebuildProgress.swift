import PipelineModel

/// A line on a terminal that shows how far the making of a catalog is, drawn ten times a second.
final class RebuildProgress {
  private let console: Console
  private var last = ContinuousClock().now
  private static let interval = Duration.milliseconds(100)

  init(_ console: Console) { self.console = console }

  /// Draws it, if it is time for that and somebody sees it.
  func draw(_ read: Int64, of all: Int64) {
    guard console.isTerminal, !console.isJSON, !console.isQuiet else { return }
    let now = ContinuousClock().now
    guard now - last >= Self.interval else { return }
    last = now
    console.draw("\(read) of \(all) facts read")
  }
}
