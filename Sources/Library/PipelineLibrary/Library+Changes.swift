import Catalog
import Ingest
public import PipelineModel

extension Library {
  /// Returns the revision after the last change of any asset.
  ///
  /// What is read afterwards has all changes up to it, and perhaps later ones.
  public func revision() async throws(LibraryError) -> Revision {
    try await run { library in try library.catalog.revision }
  }

  /// The changes of the assets that a question finds, by whatever process, until the task is cancelled.
  ///
  /// Only the conditions of the question count, not its order, start and limit. Times such as `7d` are counted
  /// from when the question was made.
  ///
  /// - Parameter revision: where to begin, such as that of the last element of an earlier sequence; `nil`
  ///   is when the first element is asked for.
  public func changes(of fetch: Fetch, since revision: Revision? = nil) -> AssetChanges {
    AssetChanges(library: self, fetch: fetch, start: revision)
  }
}

/// The changes of assets, as an endless sequence.
///
/// No thread waits for the next element. Each iterator begins anew; it may belong to any actor.
public struct AssetChanges: AsyncSequence, Sendable {
  let library: Library
  let fetch: Fetch
  let start: Revision?

  /// Assets that changed, each once, however often it changed.
  public struct Element: Sendable {
    /// Assets that are new or changed, and that the question finds, as they are now.
    public let assets: [Asset]
    /// The keys of assets that are deleted, or changed so that the question does not find them; it
    /// may never have found them.
    public let removed: [AssetID]
    /// Where to go on, also in another process; `Revision` is `Codable` and one word as text.
    public let revision: Revision
  }

  /// Begins to follow the changes.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(library: library, fetch: fetch, revision: start)
  }

  /// Follows the changes.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let library: Library
    let fetch: Fetch
    var revision: Revision?
    private var watch: Watch?

    init(library: Library, fetch: Fetch, revision: Revision?) {
      self.library = library
      self.fetch = fetch
      self.revision = revision
    }

    /// Waits for changes and returns them; `nil` once the task is cancelled.
    ///
    /// - Throws: `LibraryError` of code `unknownRevision` if the catalog was made anew or restored from a copy,
    ///   or the revision is older than 30 days: fetch everything again, and begin with its revision.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(LibraryError) -> Element? {
      // Before the first look, so that nothing is missed in between.
      var watch = self.watch ?? Watch(library)
      defer { self.watch = watch }
      while !Task.isCancelled {
        let page: Element
        do throws(LibraryError) {
          page = try await library.changes(of: fetch, after: revision)
        } catch {
          if error.code == .cancelled { return nil }
          throw error
        }
        revision = page.revision
        if !page.assets.isEmpty || !page.removed.isEmpty { return page }
        guard await watch.next(isolation: actor) else { return nil }
      }
      return nil
    }
  }

  /// The reports of the catalog's watcher; those that nobody has waited for count as one.
  private struct Watch {
    private let watcher: CatalogWatcher
    private var reports: AsyncStream<Void>.AsyncIterator

    init(_ library: Library) {
      let (stream, continuation) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
      watcher = CatalogWatcher(library.layout) { continuation.yield() }
      reports = stream.makeAsyncIterator()
    }

    /// Waits for a report; `false` if the task is cancelled.
    mutating func next(isolation actor: isolated (any Actor)?) async -> Bool {
      await reports.next(isolation: actor) != nil
    }
  }
}

extension Library {
  /// The next changes after a revision, which may be none; just the current revision after `nil`.
  fileprivate func changes(
    of fetch: Fetch, after revision: Revision?
  ) async throws(LibraryError) -> AssetChanges.Element {
    try await run { library in
      guard let revision else {
        return AssetChanges.Element(
          assets: [], removed: [], revision: try library.catalog.revision)
      }
      let page = try AssetSearch(fetch.filter).changes(
        since: revision, in: library.catalog, damaged: library.damagedAssets(for: fetch.filter),
        need: .metadata)
      var (assets, removed): ([Asset], [AssetID]) = ([], [])
      for change in page.assets {
        if case .found(let values?) = change.outcome {
          assets.append(Asset(change.id, values))
        } else {
          removed.append(change.id)
        }
      }
      return AssetChanges.Element(assets: assets, removed: removed, revision: page.revision)
    }
  }
}
