import Catalog
import Dispatch
import Files
import Ingest
import LibrarySession
import Synchronization

/// Answers questions to the catalog on a few connections, so that a slow one delays no picture.
final class QueryPool: Sendable {
  private struct State {
    var idle: [ReadableLibrary] = []
    var running = 0
    var waiting: [@Sendable (ReadableLibrary?) -> Void] = []
    var isClosed = false
  }

  /// How many run at once, and how many may wait for their turn.
  private static let width = 3
  private static let mostWaiting = 200
  /// The longest time for a question, and for one that goes through the whole library: an outline, or the
  /// place of an asset in it.
  static let patience = Duration.seconds(2)
  static let longPatience = Duration.seconds(10)

  private let layout: LibraryLayout
  private let isImmutable: Bool
  private let queue = DispatchQueue(label: "pipeline.web.query", attributes: .concurrent)
  private let state = Mutex(State())
  private let isClosed = Atomic(false)

  init(_ layout: LibraryLayout, isImmutable: Bool) {
    self.layout = layout
    self.isImmutable = isImmutable
  }

  /// Asks a question once it is its turn.
  ///
  /// - Parameters:
  ///   - limit: how long it may take.
  ///   - body: asks; called on a queue.
  ///   - completion: gets the result.
  func ask<Value: Sendable>(
    within limit: Duration = patience,
    _ body: @escaping @Sendable (ReadableLibrary) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    submit { [self] library in
      guard let library else { return completion(.failure(HTTPError.busy)) }
      let deadline = ContinuousClock.now + limit
      completion(
        Result {
          try library.catalog.interruptible { [self] in
            ContinuousClock.now > deadline || isClosed.load(ordering: .relaxed)
          } _: {
            try body(library)
          }
        })
    }
  }

  /// Ends running questions, answers those that wait, and waits until none is left.
  func close() {
    isClosed.store(true, ordering: .relaxed)
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for work in waiting { work(nil) }
    queue.sync(flags: .barrier) {}
  }

  /// - Parameter work: gets `nil` if there is no room, or no catalog.
  private func submit(_ work: @escaping @Sendable (ReadableLibrary?) -> Void) {
    let isAccepted = state.withLock { state -> Bool? in
      if state.isClosed { return nil }
      if state.running < Self.width {
        state.running += 1
        return true
      }
      guard state.waiting.count < Self.mostWaiting else { return nil }
      state.waiting.append(work)
      return false
    }
    switch isAccepted {
    case true: queue.async { [self] in run(work) }
    case false: break
    default: work(nil)
    }
  }

  /// Does one piece of work, and then those that wait.
  private func run(_ first: @escaping @Sendable (ReadableLibrary?) -> Void) {
    var next: (@Sendable (ReadableLibrary?) -> Void)? = first
    var library = state.withLock { $0.idle.popLast() }
    while let work = next {
      if library?.isOutdated != false {
        library = try? ReadableLibrary(layout, isImmutable: isImmutable)
      }
      work(library)
      next = state.withLock { state in
        if !state.waiting.isEmpty { return state.waiting.removeFirst() }
        state.running -= 1
        if let library { state.idle.append(library) }
        return nil
      }
    }
  }
}
