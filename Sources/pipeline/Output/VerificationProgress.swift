import PipelineModel

/// A line on a terminal that shows how far a verification is, drawn ten times a second.
final class VerificationProgress {
  private let console: Console
  private let total: Int
  private var last = ContinuousClock().now
  private static let interval = Duration.milliseconds(100)

  init(_ console: Console, total: Int) {
    self.console = console
    self.total = total
  }

  /// Draws it, if it is time for that and somebody sees it.
  func draw(_ checked: Int) {
    guard console.isTerminal, !console.isJSON, !console.isQuiet else { return }
    let now = ContinuousClock().now
    guard now - last >= Self.interval else { return }
    last = now
    console.draw("\(checked) of \(max(total, checked)) files checked")
  }
}
