import Synchronization

/// Whether any answer has found that the database can't be reached any more.
final class LostDatabase: Sendable {
  static let shared = LostDatabase()

  private let isLost = Atomic(false)

  func note() { isLost.store(true, ordering: .relaxed) }

  var isNoted: Bool { isLost.load(ordering: .relaxed) }
}
