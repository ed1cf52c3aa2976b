import Records
import Synchronization

/// Whether any answer has found that the database can't be reached any more.
final class LostDatabase: Sendable {
  static let shared = LostDatabase()

  private let isLost = Atomic(false)
  private let isRefused = Atomic(false)

  /// Runs a body that may find that the database is lost; `nil` if it fails.
  func noting<Value>(_ body: () throws -> Value) -> Value? {
    do {
      return try body()
    } catch {
      if (error as? CatalogError)?.code == .unreachable { note() }
      return nil
    }
  }

  func note() { isLost.store(true, ordering: .relaxed) }

  var isNoted: Bool { isLost.load(ordering: .relaxed) }

  /// Whether the process that started this one was refused, too, because rights are missing.
  var isDenied: Bool { isRefused.load(ordering: .relaxed) }

  func note(isDenied: Bool) { isRefused.store(isDenied, ordering: .relaxed) }
}
