/// Whether something that can't be taken back may be done.
///
/// On a terminal that is asked, however little it is. Elsewhere a small number goes without a
/// question, and more takes `--yes`.
struct Confirmation {
  private let context: Context
  /// As many are removed without `--yes` where nobody can be asked.
  private static let unasked = 20

  init(_ context: Context) { self.context = context }

  /// - Parameters:
  ///   - count: how many things would be gone for good.
  ///   - question: what is asked.
  /// - Throws: `UsageError` where nobody can be asked and there are too many.
  func mayRemove(_ count: Int, _ question: String) throws(UsageError) -> Bool {
    guard count > 0, !context.arguments.has(.yes) else { return true }
    if context.console.canAsk {
      return context.console.ask(question) { Interruption.shared.isRequested }
    }
    guard count > Self.unasked else { return true }
    throw UsageError(
      "\(question) That can't be taken back, and is more than \(Self.unasked): add --yes.",
      verb: context.arguments.verb)
  }
}
