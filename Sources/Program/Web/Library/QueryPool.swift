import Catalog
import Files
import Ingest
import LibrarySession

/// Answers questions to the catalog on a few threads, each with a connection of its own, so that a slow one
/// delays no picture, questions to the whole library delay no page, and neither counting nor completions
/// delay any of these.
final class QueryPool: Sendable {
  private let pages: QueryLane
  private let outlines: QueryLane
  private let counts: QueryLane
  /// For completions, which come with each pause of somebody who types, and may ask about all assets.
  let completions: QueryLane
  private let isConfined: Bool

  /// The longest time from the arrival of a question to its answer, of one to the whole library, and of
  /// counting all.
  static let patience = Duration.seconds(2)
  static let longPatience = Duration.seconds(10)
  static let countPatience = Duration.seconds(120)

  /// How many connections it needs.
  static let connections = 5

  /// - Parameter pace: bounds the threads' processor time during imports.
  init(_ opener: LibraryOpener, pace: Pace) throws(FileError) {
    let damage = KeptDamageList()
    isConfined = opener.isConfined
    func lane(width: Int = 1, _ limit: Duration) throws(FileError) -> QueryLane {
      try QueryLane(width: width, isConfined: opener.isConfined, pace: pace) {
        LostDatabase.shared.noting { try opener.open(keptDamage: damage, limit: limit) }
      }
    }
    pages = try lane(width: 2, Self.patience)
    outlines = try lane(Self.longPatience)
    counts = try lane(Self.countPatience)
    completions = try lane(Self.patience)
  }

  /// Asks a question once it is its turn.
  ///
  /// - Parameters:
  ///   - limit: how long it may take, with its wait.
  ///   - lane: which threads answer it; by default those for what may take so long.
  ///   - body: asks; called on a thread of the pool.
  ///   - completion: gets the result.
  func ask<Value: Sendable>(
    within limit: Duration = patience, on lane: QueryLane? = nil,
    _ body: @escaping @Sendable (ReadableLibrary) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    let lane =
      lane ?? (limit > Self.longPatience ? counts : limit > Self.patience ? outlines : pages)
    let deadline = ContinuousClock.now + limit
    lane.submit { [isConfined] library in
      guard let library, ContinuousClock.now < deadline else {
        return completion(.failure(HTTPError.busy))
      }
      completion(
        Result {
          try library.catalog.interruptible {
            ContinuousClock.now > deadline || lane.isClosed
          } _: {
            if isConfined, library.isOutdated {
              // The process that started this one finds that, too, and starts another one.
              LostDatabase.shared.note()
              throw HTTPError.lost
            }
            return try body(library)
          }
        })
    }
  }

  /// Ends running questions, answers those that wait, and waits until none is left.
  func close() {
    pages.close()
    outlines.close()
    counts.close()
    completions.close()
  }
}
