import Ingest
import PipelineModel

/// The progress line of `verify`, drawn ten times a second.
final class VerificationProgress {
  private let console: Console
  private let total: Int
  private var last = ContinuousClock().now
  private static let interval = Duration.milliseconds(100)

  init(_ console: Console, total: Int) {
    self.console = console
    self.total = total
  }

  /// Draws the line on a terminal if the interval has passed.
  func draw(_ step: VerificationStep) {
    guard console.isTerminal, !console.isJSON, !console.isQuiet else { return }
    let now = ContinuousClock().now
    guard now - last >= Self.interval else { return }
    last = now
    console.draw(text(of: step))
  }

  private func text(of step: VerificationStep) -> String {
    switch step {
    case .files(let count): "\(count) of \(max(total, count)) files checked"
    case .folders(let count): "comparing originals with records: \(count) of 256 folders"
    case .facts(let count, let all):
      "comparing manifest and catalog: \(100 * count / max(all, 1)) %"
    case .renditionFolders(let count): "comparing renditions with records: folder \(count + 1)"
    }
  }
}
