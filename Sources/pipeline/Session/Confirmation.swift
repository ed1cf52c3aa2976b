/// Confirms irreversible actions.
///
/// On a terminal it always asks. Elsewhere a small number needs no confirmation, and more needs
/// `--yes`.
struct Confirmation {
  private let context: Context
  /// The most items removed without `--yes` off a terminal.
  private static let unasked = 20

  init(_ context: Context) { self.context = context }

  /// - Parameters:
  ///   - count: how many items would be deleted for good.
  ///   - question: the question to ask.
  /// - Throws: `UsageError` off a terminal if there are too many items.
  func mayRemove(_ count: Int, _ question: String) throws(UsageError) -> Bool {
    guard count > 0, !context.arguments.has(.yes) else { return true }
    if context.console.canAsk {
      return context.console.ask(question) { SignalHandler.shared.isStopRequested }
    }
    guard count > Self.unasked else { return true }
    throw UsageError(
      "\(question) This can't be undone and affects more than \(Self.unasked): add --yes.",
      verb: context.arguments.verb)
  }
}
