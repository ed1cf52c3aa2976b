import Catalog
import Configuration
import Dispatch
import Files
import Ingest
import Originals
import PipelineModel
import PipelinePlugin
import PluginHost
import Records
import Renditions
import Synchronization

/// Hands out pictures of any size to the process that answers HTTP: those that are there at once, others when it
/// is their turn. Fetches originals and renditions that it can't reach.
///
/// Decoding happens in workers, as for `get`.
final class PictureDesk: Sendable {
  private let search: ConfigurationSearch
  private let warn: @Sendable (String) -> Void
  /// Looks for what is there, so that it does not wait behind what has to be made.
  private let finders: WorkLane
  private let makers: WorkLane
  private let fetchers: WorkLane
  /// One for all pictures, however many are made at once.
  private let budget: WorkerMemoryBudget
  /// The library as it was opened last.
  private let session = Mutex<ReadingSession?>(nil)

  /// The most questions that wait to be looked up.
  private static let mostSought = 1024

  /// The most originals that are fetched at once, and that wait for it.
  private static let fetchWidth = 4
  private static let mostFetched = 64
  /// How long a fetched original stays at least.
  private static let held = DispatchTimeInterval.seconds(30)

  /// - Parameter warn: receives a sentence when pictures can't be kept.
  init(
    _ search: ConfigurationSearch, _ configuration: PipelineConfiguration,
    warn: @escaping @Sendable (String) -> Void
  ) throws(FileError) {
    self.search = search
    self.warn = warn
    finders = try WorkLane(width: 1, mostWaiting: Self.mostSought)
    fetchers = try WorkLane(width: Self.fetchWidth, mostWaiting: Self.mostFetched)
    let onDemand = configuration.onDemand
    makers = try WorkLane(width: onDemand.concurrency, mostWaiting: onDemand.queue)
    budget = WorkerMemoryBudget(most: configuration.memoryBudget)
  }

  /// Answers when there is a picture, on a thread of this or, if there are too many, on the calling one.
  ///
  /// - Parameter number: which takes it back.
  func ask(
    _ number: Int, _ id: AssetID, _ request: PictureRequest,
    _ answer: @escaping @Sendable (Result<CachedPicture, any Error>) -> Void
  ) {
    let isAccepted = finders.submit(as: number) { [self] in
      do {
        let session = try current()
        let asset = try session.asset(BytePath(id.description))
        let maker = PictureMaker(session, sharing: budget, warn: warn)
        if let picture = try maker.existing(of: asset, request) { return answer(.success(picture)) }
      } catch {
        return answer(.failure(error))
      }
      make(number, id, request, answer)
    }
    if !isAccepted { answer(.failure(PictureError.busy)) }
  }

  /// Takes back what nobody has begun: it is not answered.
  func withdraw(_ number: Int) {
    if !finders.withdraw(number), !makers.withdraw(number) { _ = fetchers.withdraw(number) }
  }

  /// Brings an original from a bucket to the library's cache.
  ///
  /// - Parameter answer: called with what went wrong, if something did.
  func fetchOriginal(
    _ number: Int, of id: AssetID, _ answer: @escaping @Sendable ((any Error)?) -> Void
  ) {
    fetch(number, answer) { session in
      try session.library.leaseOriginal(session.asset(BytePath(id.description)).digest)
    }
  }

  /// Brings a rendition from a bucket to the library's cache.
  ///
  /// - Parameter answer: called with what went wrong, if something did.
  func fetchRendition(
    _ number: Int, _ id: Int64, _ answer: @escaping @Sendable ((any Error)?) -> Void
  ) {
    fetch(number, answer) { try Self.leaseRendition(id, in: $0) }
  }

  /// - Returns: `nil` if the rendition is in no bucket, or has no record any more.
  private static func leaseRendition(
    _ id: Int64, in session: ReadingSession
  ) throws -> LocalOriginal? {
    guard let rendition = try session.catalog.rendition(id), let path = rendition.path,
      let bucket = try session.library.renditions(session.catalog).bucket(of: path)
    else { return nil }
    let copy: LocalOriginal?
    do throws(FileError) {
      copy = try bucket.lease(path, rendition.digest)
    } catch {
      guard [.notFound, .changed].contains(error.code) else { throw error }
      throw PictureError(.damaged, error.message)
    }
    guard let copy else {
      throw FileError(
        .unavailable,
        "“\(path.printable)” can't be handed out: the library has no place for a copy of it.",
        path: BytePath(path))
    }
    return copy
  }

  /// - Parameter lease: returns the copy in the cache.
  private func fetch(
    _ number: Int, _ answer: @escaping @Sendable ((any Error)?) -> Void,
    _ lease: @escaping @Sendable (ReadingSession) throws -> LocalOriginal?
  ) {
    let isAccepted = fetchers.submit(as: number) { [self] in
      do {
        let copy = try lease(current())
        answer(nil)
        // Until the asker has opened it.
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.held) {
          withExtendedLifetime(copy) {}
        }
      } catch {
        answer(error)
      }
    }
    if !isAccepted { answer(PictureError.busy) }
  }

  private func make(
    _ number: Int, _ id: AssetID, _ request: PictureRequest,
    _ answer: @escaping @Sendable (Result<CachedPicture, any Error>) -> Void
  ) {
    let isAccepted = makers.submit(as: number) { [self] in
      answer(
        Result {
          // Both anew, as it may have waited for long.
          let session = try current()
          let asset = try session.asset(BytePath(id.description))
          return try PictureMaker(session, sharing: budget, warn: warn).picture(of: asset, request)
            .picture
        })
    }
    if !isAccepted { answer(.failure(PictureError.busy)) }
  }

  private func current() throws -> ReadingSession {
    try session.withLock { held in
      var now = try held ?? ReadingSession(search)
      try now.refresh()
      held = now
      return now
    }
  }
}

extension WebRefusal {
  /// Why there is no picture.
  init(_ error: any Error) {
    let kind: Kind =
      switch error {
      case let error as PictureError:
        switch error.code {
        case .badRequest: .badRequest
        case .notAPicture, .undecodable, .damaged: .noPicture
        case .busy: .busy
        }
      case let error as SessionError where error.code == .noAsset: .noAsset
      case let failure as PluginFailure where failure.class == .transient: .busy
      default: .failed
      }
    self.init(kind: kind, reason: Failure(error).text)
  }
}
