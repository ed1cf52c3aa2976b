import Catalog
import Files
import Ingest
import LibraryControl
import PipelineModel
import Query
import Records

extension Library {
  /// Changes what is said about assets, moves them into the trash and back, and retries their jobs, as one
  /// transaction.
  ///
  /// If no process holds the library, this one takes its lock and does it; otherwise the holder, `run`
  /// or `watch`, does it between two groups of files. Either everything is done or nothing, also if a
  /// process is killed or the power fails in the middle. When this returns, it is on disk, and every
  /// process reads it.
  ///
  /// - Parameters:
  ///   - wait: how long to wait for a holder that takes no requests, such as `rebuild-catalog`.
  ///   - body: writes down the steps. If it throws, nothing is done, and its error is thrown.
  /// - Throws: `LibraryError`. After `interrupted` the holder ended before it answered, so all or
  ///   nothing was done; the same edit again is harmless. After `unfinished` it is recorded and
  ///   takes effect when the library is opened for changes next. Any other error means that nothing was done.
  @discardableResult
  public func perform(
    wait: Duration = .seconds(2), _ body: (inout LibraryEdit) throws -> Void
  ) async throws -> EditSummary {
    var edit = LibraryEdit()
    try body(&edit)
    let steps = edit.steps
    let edits = try await run { library in try steps.map { try $0.resolved(in: library) } }
    return try await perform(edits, until: ContinuousClock().now + wait)
  }

  private func perform(
    _ edits: [AssetEdit], until deadline: ContinuousClock.Instant
  ) async throws(LibraryError) -> EditSummary {
    do throws(QueryError) {
      try AssetEdits.check(edits)
    } catch {
      throw LibraryError(.notAnEdit, error.message)
    }
    if edits.allSatisfy(\.assets.isEmpty) { return EditSummary(assets: 0, jobs: 0, warnings: []) }
    let layout = layout
    while true {
      if Task.isCancelled { throw LibraryError.cancelled }
      // From here on it is not interrupted: who cancels must know what was done.
      let summary = try await Self.run(on: changes) {
        try LibraryWriter(layout).perform(edits)
      }
      if let summary { return summary }
      guard ContinuousClock().now < deadline else {
        throw LibraryError(
          .locked,
          "Another process works on “\(layout.root.printable)” and takes no requests now; wait for it, and "
            + "perform the edit again. Nothing was done.")
      }
      do {
        try await Task.sleep(for: .milliseconds(50))
      } catch {
        throw LibraryError.cancelled
      }
    }
  }
}

/// What an edit came to.
public struct EditSummary: Hashable, Sendable {
  /// The number of assets that were changed; those that had all of it already don't count.
  public let assets: Int
  /// The number of jobs that were made ready again.
  public let jobs: Int
  /// What opening the library reported, such as an interrupted import that can't be completed yet.
  public let warnings: [String]
}

/// Changes a library: by itself if its lock is free, otherwise through the process that holds it.
private struct LibraryWriter {
  private let found: LibraryFolder

  init(_ layout: LibraryLayout) throws { found = try LibraryFolder.open(layout) }

  /// Makes edits.
  ///
  /// - Returns: `nil` if another process holds the library and takes no requests.
  func perform(_ edits: [AssetEdit]) throws -> EditSummary? {
    if let lock = try found.attemptLock() { return try perform(edits, lock) }
    guard let client = try ControlClient(of: found) else { return nil }
    var warnings: [String] = []
    let result = try client.ask(.edit(edits)) { event in
      if case .warning(let message) = event { warnings.append(message) }
    }
    return result.map {
      EditSummary(assets: $0.count("assets"), jobs: $0.count("jobs"), warnings: warnings)
    }
  }

  private func perform(_ edits: [AssetEdit], _ lock: FileLock) throws -> EditSummary {
    let folder = try Descriptor.openFolder(found.layout.catalogFolder)
    if let network = try folder.fileSystem().networkName {
      throw IngestError(
        .notALibrary,
        "“\(folder.path.printable)” is on \(network), where SQLite's locks can't be trusted; nothing was "
          + "done. Change it on the machine that has the disk.", path: folder.path)
    }
    let warnings = Warnings()
    // An edit stores no bytes, so it keeps no space free; the journal and the catalog may be full all the same.
    let library = try IngestLibrary(found, lock: lock, reserve: 0, report: warnings)
    let result: EditResult
    do {
      result = try AssetEdits(library: library, report: warnings).perform(edits)
    } catch {
      // If even that can't be read, nothing is known: the next opening finds what is in the journal.
      let isUnfinished = (try? library.isBehind()) ?? true
      // Clean-up: whoever opens it next closes it.
      try? library.close()
      guard isUnfinished else {
        // All others come of files that can't be written.
        let isKnown =
          error is LibraryError || error is IngestError || error is CatalogError
          || error is QueryError
        throw isKnown ? error : LibraryError(.notWritten, "\(error)")
      }
      throw LibraryError(
        .unfinished,
        "The edit is in the journal, but not in the catalog yet: \(error) The next process that opens the "
          + "library for changes completes it.")
    }
    // It is done: whatever keeps the catalog from being tidied now, the next process finds it.
    try? library.close()
    return EditSummary(
      assets: result.assets, jobs: result.jobs, warnings: warnings.messages)
  }

  /// Collects what opening a library reports.
  private final class Warnings: IngestReport {
    private(set) var messages: [String] = []

    func file(_ event: FileEvent) {}
    func committed() {}
    func warning(_ message: String) { messages.append(message) }
  }
}

extension LibraryEdit.Step {
  fileprivate func resolved(in library: ReadableLibrary) throws -> AssetEdit {
    switch assets {
    case .keys(let keys): AssetEdit(action, keys, mustExist: true)
    case .found(let fetch): AssetEdit(action, try library.keys(fetch), mustExist: false)
    }
  }
}
