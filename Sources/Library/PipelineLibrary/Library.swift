import Catalog
import Dispatch
import Files
public import Foundation
import Ingest
public import PipelineModel
import Query
import Records
import Synchronization

/// A library of pictures and other files.
///
/// Reading needs no lock and never waits for the process that imports. Calls may come from any task; they run one
/// after the other, on a queue of the library or, if they are short, on the task's own thread; the caller's actor
/// is free meanwhile. What a question finds is
/// of one moment; each asset is read right after that.
public final class Library: Sendable {
  let layout: LibraryLayout
  /// How the program is started that makes pictures.
  let pictureProgram: PictureProgram
  /// The library as it was opened last. Only the call that reads opens it anew.
  private let opened: Mutex<ReadableLibrary>
  private let queue = DispatchQueue(label: "pipeline.library")
  /// Held by the call that reads.
  private let turn = Mutex<Void>(())
  /// Edits, which may wait for another process; reading goes on meanwhile.
  let changes = DispatchQueue(label: "pipeline.library.changes")

  private init(_ layout: LibraryLayout, _ pictureProgram: PictureProgram) throws {
    self.layout = layout
    self.pictureProgram = pictureProgram
    opened = Mutex(try ReadableLibrary(layout))
  }

  /// Opens a library.
  ///
  /// - Parameters:
  ///   - folder: the library's folder, with `library.json` in it.
  ///   - catalog: the catalog's folder or the URI of its database, if the configuration names one.
  ///   - program: the installed `pipeline`, which makes pictures; by default the first one in `PATH`.
  ///   - configuration: the library's `pipeline.json`, which says how large pictures may be; by default
  ///     the one that the program finds.
  /// - Throws: `LibraryError`.
  public static func open(
    at folder: String, catalog: String? = nil, program: String? = nil,
    configuration: String? = nil
  ) async throws(LibraryError) -> Library {
    let database = try database(catalog)
    let layout = LibraryLayout(
      root: absolute(folder), catalogFolder: database == nil ? catalog.map { absolute($0) } : nil,
      database: database)
    let pictureProgram = PictureProgram(
      path: program.map { absolute($0) }, configuration: configuration.map { absolute($0) })
    return try await run(on: DispatchQueue(label: "pipeline.library.open")) {
      try Library(layout, pictureProgram)
    }
  }

  /// The database that a catalog is in; `nil` if it is in a folder.
  private static func database(
    _ catalog: String?
  ) throws(LibraryError) -> DatabaseLocation? {
    guard let catalog, DatabaseLocation.isMeant(by: catalog) else { return nil }
    do throws(LocationFault) {
      return try DatabaseLocation(catalog)
    } catch {
      throw LibraryError(.notALibrary, "The catalog's URI \(error.reason).")
    }
  }

  private static func absolute(_ path: String) -> BytePath {
    if path == "~" || path.hasPrefix("~/") {
      let home = FileManager.default.homeDirectoryForCurrentUser.path
      return BytePath(home + path.dropFirst()).normalized
    }
    return BytePath(FileManager.default.currentDirectoryPath).appending(BytePath(path)).normalized
  }

  // MARK: Finding

  /// Returns the assets that a question finds.
  ///
  /// - Throws: `LibraryError` of code `noAsset` if the one to begin after is gone, and with it its place in
  ///   the order. As each call that reads, of code `cancelled` as soon as the task is cancelled.
  public func fetch(_ fetch: Fetch) async throws(LibraryError) -> [Asset] {
    try await run(isShort: fetch.isShort) { library in try library.assets(fetch) }
  }

  /// Returns the keys of the assets that a question finds.
  public func keys(_ fetch: Fetch) async throws(LibraryError) -> [AssetID] {
    try await run { library in try library.keys(fetch) }
  }

  /// Returns an asset, or `nil` if there is none with this key.
  public func asset(_ id: AssetID) async throws(LibraryError) -> Asset? {
    try await run(isShort: true) { library in try library.assets([id]).first }
  }

  /// Returns the number of assets that a question finds, whatever its limit and its start.
  public func count(_ fetch: Fetch) async throws(LibraryError) -> Int {
    try await run { library in
      try AssetSearch(fetch.filter).count(
        in: library.catalog, damaged: library.damagedAssets(for: fetch.filter))
    }
  }

  /// Returns the assets that a question finds, some at a time.
  ///
  /// It keeps the keys of all of them, and reads the next ones when they are asked for, as they are then.
  /// Assets that are deleted meanwhile are left out. If the task is cancelled, it ends.
  ///
  /// - Parameter batchSize: the most assets at a time.
  public func stream(
    _ fetch: Fetch, batchSize: Int = 500
  ) -> AsyncThrowingStream<[Asset], any Error> {
    let keys = PendingKeys()
    return AsyncThrowingStream { [self] in
      do {
        let batch = try await keys.next(max(1, batchSize)) { try await self.keys(fetch) }
        guard let batch else { return nil }
        return try await run { library in
          try library.assets(batch, withRenditions: fetch.withRenditions)
        }
      } catch let error as LibraryError where error.code == .cancelled {
        return nil
      }
    }
  }

  /// What assets have in common.
  public enum Section: String, CaseIterable, Sendable {
    case day, month, year, folder, source, type, kind, camera, lens, tag, album, rating, state

    var grouping: Grouping {
      switch self {
      case .day: .day
      case .month: .month
      case .year: .year
      case .folder: .folder
      case .source: .field(.text(.source))
      case .type: .field(.text(.type))
      case .kind: .field(.text(.kind))
      case .camera: .field(.text(.camera))
      case .lens: .field(.text(.lens))
      case .tag: .field(.text(.tag))
      case .album: .field(.text(.album))
      case .rating: .field(.number(.rating))
      case .state: .field(.text(.state))
      }
    }
  }

  /// Returns the sections of the assets that a question finds, in order, with how many each has;
  /// the last has the name `nil` if assets have no value.
  public func sections(
    _ fetch: Fetch, by section: Section
  ) async throws(LibraryError) -> [(name: String?, count: Int)] {
    try await run { library in
      let grouping = section.grouping
      let groups = try AssetSearch(fetch.filter)
        .groups(
          by: grouping, in: library.catalog, damaged: library.damagedAssets(for: fetch.filter))
      return grouping.sorted(groups).map { (name: $0.key, count: $0.count) }
    }
  }

  // MARK: Reading

  /// Returns everything that the stages that are done found out about an asset, by stage.
  ///
  /// - Throws: `LibraryError` of code `noAsset`.
  public func facts(of id: AssetID) async throws(LibraryError) -> [String: JSONValue] {
    try await run { library in
      _ = try library.record(id)
      let jobs = try library.catalog.jobs(of: id)
      return Dictionary(
        jobs.compactMap { job in job.facts.map { (job.stage, $0) } }, uniquingKeysWith: { $1 })
    }
  }

  /// Returns the pictures that stages made of an asset.
  ///
  /// - Throws: `LibraryError` of code `noAsset`.
  public func renditions(of id: AssetID) async throws(LibraryError) -> [Rendition] {
    try await run { library in try library.record(id).renditions.map { Rendition($0) } }
  }

  /// Returns the bytes of a rendition, compared with their hash.
  ///
  /// - Parameter name: its name, or `STAGE/NAME` where two stages have the same.
  /// - Throws: `LibraryError` of code `noAsset`, `noRendition`, or `damaged` if the bytes are missing or
  ///   not those that were made.
  public func rendition(_ name: String, of id: AssetID) async throws(LibraryError) -> Data {
    try await run { library in
      let found = try library.record(id).renditions(named: name)
      guard found.count == 1 else {
        throw LibraryError(
          .noRendition,
          found.isEmpty
            ? "The asset \(id) has no rendition “\(name)”."
            : "“\(name)” is a rendition of several stages of the asset \(id); name the stage, too.")
      }
      let reader = try RenditionReader(of: library.library, library.catalog)
      var data = Data()
      try reader.content(of: found[0], of: id).forEachChunk { chunk throws(FileError) in
        data.append(contentsOf: chunk)
      }
      return data
    }
  }

  /// Reads an asset's bytes in chunks, compared with their hash.
  ///
  /// - Parameter body: called for each chunk, on another queue. An error that it throws ends the reading,
  ///   and is thrown.
  /// - Throws: `LibraryError` of code `noAsset`, or `damaged`, after the last chunk, if the bytes aren't
  ///   those that were imported; errors of the body.
  public func readOriginal(
    of id: AssetID, _ body: @escaping @Sendable (Data) throws -> Void
  ) async throws {
    let (library, digest) = try await run { library in (library, try library.record(id).digest) }
    let failure = try await Self.run(on: .global()) { () -> (any Error)? in
      var failure: (any Error)?
      do throws(FileError) {
        try library.readOriginal(digest) { chunk throws(FileError) in
          do {
            try body(Data(chunk))
          } catch {
            failure = error
            throw FileError(.stopped, "The reader stopped.", path: nil)
          }
        }
      } catch {
        if failure == nil { throw error }
      }
      return failure
    }
    if let failure { throw failure }
  }

  // MARK: The queue

  /// Runs a body in its turn, unless the task is cancelled before; if it is cancelled meanwhile, its reads of
  /// the catalog are interrupted.
  ///
  /// - Parameter isShort: whether it reads no more than a page. Then it runs at once on the task's own thread, which is
  ///   never that of the caller's actor, if nothing else reads: to change threads takes as long as the page.
  func run<Value: Sendable>(
    isShort: Bool = false, _ body: @escaping @Sendable (ReadableLibrary) throws -> Value
  ) async throws(LibraryError) -> Value {
    if isShort, !Task.isCancelled {
      let result = turn.withLockIfAvailable { _ in read(body, isCancelled: { Task.isCancelled }) }
      if let result { return try result.get() }
    }
    let call = CancellableCall<Value>()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard call.wait(continuation) else { return }
        queue.async { [self] in
          guard call.begin() else { return }
          call.end(turn.withLock { _ in read(body, isCancelled: { call.isCancelled }) })
        }
      }
    } onCancel: {
      call.cancel()
    }
    return try result.get()
  }

  private func read<Value: Sendable>(
    _ body: (ReadableLibrary) throws -> Value, isCancelled: @escaping @Sendable () -> Bool
  ) -> Result<Value, LibraryError> {
    Result {
      let library = try opened.withLock { opened in
        if opened.isOutdated { opened = try ReadableLibrary(layout) }
        return opened
      }
      return try library.catalog.interruptible(when: isCancelled) { try body(library) }
    }.mapError { LibraryError($0) }
  }

  static func run<Value: Sendable>(
    on queue: DispatchQueue, _ body: @escaping @Sendable () throws -> Value
  ) async throws(LibraryError) -> Value {
    let result = await withCheckedContinuation { continuation in
      queue.async {
        continuation.resume(returning: Result { try body() }.mapError { LibraryError($0) })
      }
    }
    return try result.get()
  }
}

/// A picture that a stage made of an asset.
public struct Rendition: Hashable, Sendable {
  public let stage: String
  public let name: String
  /// The media type, such as `image/jpeg`.
  public let type: String
  /// Pixels.
  public let width: Int
  /// Pixels.
  public let height: Int
  /// The size of its bytes.
  public let size: Int
  /// Whether it was made with other options, and a newer one is due.
  public let isStale: Bool

  init(_ record: RenditionRecord) {
    stage = record.stage
    name = record.name
    type = record.mediaType
    width = record.width
    height = record.height
    size = record.bytes
    isStale = record.isStale
  }
}

/// The keys of a stream that are still to come.
private actor PendingKeys {
  private var all: [AssetID]?
  private var next = 0

  /// Returns the next keys, or `nil` behind the last.
  ///
  /// - Parameter all: returns all keys; called once.
  func next(
    _ count: Int, of all: @escaping @Sendable () async throws -> [AssetID]
  ) async throws -> [AssetID]? {
    // Two that ask for the first ones at once would both read them, which does no harm.
    let keys =
      if let known = self.all { known } else { try await all() }
    self.all = keys
    guard next < keys.count else { return nil }
    defer { next += count }
    return Array(keys[next..<min(next + count, keys.count)])
  }
}

extension Fetch {
  /// Whether it reads no more than a page, by an index.
  fileprivate var isShort: Bool {
    guard let most, most <= CatalogReader.mostFoundAtOnce, skipped == 0 else { return false }
    return AssetQuestion(filter, order: order).followsIndex
  }

  fileprivate var search: AssetSearch {
    var search = AssetSearch(filter)
    search.order = order
    search.after = start
    search.limit = most
    search.offset = skipped
    return search
  }
}

extension ReadableLibrary {
  fileprivate func assets(_ fetch: Fetch) throws -> [Asset] {
    let page = try fetch.search.page(
      in: catalog, damaged: damagedAssets(for: fetch.filter), withRenditions: fetch.withRenditions)
    if let page { return page.map { Asset($0) } }
    return try assets(keys(fetch), withRenditions: fetch.withRenditions)
  }

  func keys(_ fetch: Fetch) throws -> [AssetID] {
    var keys: [AssetID] = []
    try fetch.search.run(in: catalog, damaged: try damagedAssets(for: fetch.filter), need: .keys) {
      id, _ in
      keys.append(id)
    }
    return keys
  }

  /// The assets with these keys; those that are gone are left out.
  fileprivate func assets(_ keys: [AssetID], withRenditions: Bool = false) throws -> [Asset] {
    if let found = try catalog.foundAssets(keys, withRenditions: withRenditions) {
      return found.map { Asset($0) }
    }
    // A run has still to prepare the catalog; until then facts say the same, at more length.
    return try catalog.assetValues(of: keys, withMetadata: true).map { id, values in
      var asset = Asset(id, values)
      if withRenditions {
        asset.renditions = try catalog.asset(id)?.renditions.map { Rendition($0) } ?? []
      }
      return asset
    }
  }

  fileprivate func record(_ id: AssetID) throws -> AssetRecord {
    guard let record = try catalog.asset(id) else {
      throw LibraryError(.noAsset, "There is no asset \(id).")
    }
    return record
  }
}
