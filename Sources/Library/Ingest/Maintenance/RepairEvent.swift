/// What a repair did about one problem.
package struct RepairEvent: Hashable, Codable, Sendable {
  package enum Action: String, Hashable, Codable, Sendable {
    /// Discarded what was left of a rendition, whose job makes it again.
    case dueAgain = "due-again"
    /// Restored an original from a copy at hand.
    case restored
    /// Moved a damaged original to `damaged/`.
    case setAside = "set-aside"
    /// Removed a rendition's file that no record names.
    case removed
    /// Made a record of an original that had none.
    case recorded
    /// Nothing, because the problem is gone.
    case solved
    /// Nothing, because nothing can be done.
    case left

    /// Whether the problem is solved, or will be by a job that is due.
    var isRepaired: Bool { self != .setAside && self != .left }
  }

  package var problem: VerificationProblem
  package var action: Action
  /// A sentence for people.
  package var message: String
}
