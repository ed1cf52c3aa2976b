import Catalog
import Configuration
import Engine
import Files
import Glibc
import Ingest
package import LibraryControl
package import PipelineModel
import Records

/// Where a session works: with the library's lock, or beside the process that has it.
package enum SessionPlace {
  case locked(LockedLibrary)
  case joined(JoinedPlace)

  /// Finds out which of them a configuration is for, and takes the lock in the first case.
  package static func open(
    _ search: ConfigurationSearch, wait: TimeSpan, signals: SignalHandler = .shared
  ) throws -> SessionPlace {
    if let place = try JoinedPlace(search, wait: wait) { return .joined(place) }
    return .locked(
      try ConfiguredLibrary(search, makesLibrary: true).lock(wait: wait, signals: signals))
  }

  /// The same with the configuration as it is now.
  ///
  /// - Throws: also `SessionError` of code `otherLibrary`.
  func reloaded() throws -> SessionPlace {
    switch self {
    case .locked(let locked): .locked(try locked.reloaded())
    case .joined(let place): .joined(try place.reloaded())
    }
  }

  /// The same for a process that has worked there and comes back: an undo may have its place for a while.
  var again: SessionPlace {
    switch self {
    case .locked: self
    case .joined(let place): .joined(place.again)
    }
  }

  /// Whether another process has the lock.
  var isJoined: Bool { if case .joined = self { true } else { false } }

  var setup: LibrarySetup {
    switch self {
    case .locked(let locked): locked.library.setup
    case .joined(let place): place.setup
    }
  }
}

/// A machine that takes files for a library whose folder another machine has.
package struct JoinedPlace {
  let search: ConfigurationSearch
  let setup: LibrarySetup
  let plan: StagePlan
  /// How long to wait for another process that takes files with the same folder; `nil` to take only what is named.
  let wait: TimeSpan?

  /// - Returns: `nil` if the configuration does not say so.
  package init?(_ search: ConfigurationSearch, wait: TimeSpan? = nil) throws {
    let setup = try LibrarySetup(search)
    guard setup.configuration.node.joins else { return nil }
    try self.init(search, setup, wait)
  }

  private init(_ search: ConfigurationSearch, _ setup: LibrarySetup, _ wait: TimeSpan?) throws {
    try setup.requireForJoining()
    self.init(search: search, setup: setup, plan: try setup.planBeside(), wait: wait)
  }

  private init(search: ConfigurationSearch, setup: LibrarySetup, plan: StagePlan, wait: TimeSpan?) {
    self.search = search
    self.setup = setup
    self.plan = plan
    self.wait = wait
  }

  /// Opens the library, and takes the locks of this machine that `wait` asks for.
  func open(_ report: RunReport, _ signals: SignalHandler) throws -> JoinedLibrary {
    let place = setup.layout.catalogPlace
    let id = try Catalog.requireLibraryID(of: place)
    let catalog = try Catalog.openBeside(place, libraryID: id)
    let isStopped: @Sendable () -> Bool = {
      Heartbeat.shared.beat()
      return signals.isStopRequested
    }
    do {
      let workplace = try Workplace(
        setup.layout, library: id, mayClaim: catalog.newestAssetID() == nil
      ) { signals.isStopRequested }
      try workplace.requireJoined()
      let lock = try wait.map {
        try workplace.lockForTaking(wait: $0.duration, isStopped: isStopped)
      }
      try workplace.requireStore(of: catalog)
      if let absence = try workplace.requireOriginals(of: catalog) { report.warning(absence) }
      let remote = RemoteLibrary(catalog: catalog, isStopped: isStopped)
      let library = try JoinedLibrary(
        workplace, lock: lock, layout: setup.layout, sources: setup.configuration.sources,
        catalog: catalog, reserve: setup.reserve(), report: report,
        isStopped: isStopped
      ) { try remote.record($0) }
      try library.holdName(wait: wait?.duration ?? .zero)
      return library
    } catch {
      // Why it could not be used is what counts.
      try? catalog.close()
      throw error
    }
  }

  /// Has the process with the library's lock perform a request, or returns files of this machine.
  ///
  /// - Throws: `IngestError` of code `notALibrary` if it has to be made there.
  package func perform(
    _ request: LibraryRequest, output: any SessionOutput, signals: SignalHandler = .shared
  ) throws -> RequestResult {
    if case .undo(let run) = request { return try undo(run, RunReport(output), signals) }
    guard request.isForOtherMachines else {
      throw IngestError(
        .notALibrary,
        "That can only be done on the machine with the library's own folder, which this one joins.",
        path: setup.layout.root)
    }
    let place = setup.layout.catalogPlace
    let library = try Catalog.requireLibraryID(of: place)
    let catalog = try Catalog.openBeside(place, libraryID: library)
    // Whatever was answered, the place among the participants goes with the process.
    defer { try? catalog.close() }
    return try RemoteLibrary(catalog: catalog) { signals.isStopRequested }.ask(request)
  }

  /// For how long another process may take files without listening.
  private static let patience = Duration.seconds(2)

  /// Returns files here, or has the process of this machine that takes files return them.
  private func undo(
    _ run: AssetID, _ report: RunReport, _ signals: SignalHandler
  ) throws -> RequestResult {
    let deadline = ContinuousClock.now + max(wait?.duration ?? .zero, Self.patience)
    let own = waiting(milliseconds: 0)
    while true {
      do {
        return try own.undoHere(run, report, signals)
      } catch let error as IngestError where error.code == .locked {
        let client = try ControlClient(joined: setup.layout.root)
        if let result = try client?.ask(.undo(run: run), report: report) { return result }
        guard ContinuousClock.now < deadline, !signals.isStopRequested else { throw error }
        usleep(200_000)
      }
    }
  }

  private func undoHere(
    _ run: AssetID, _ report: RunReport, _ signals: SignalHandler
  ) throws -> RequestResult {
    let library = try open(report, signals)
    do {
      let undo = Undo(library: library, sources: setup.configuration.sources, report: report)
      let result = try undo.undo(run) { signals.isStopRequested }
      try library.close()
      return RequestResult(result)
    } catch {
      // Why nothing more was returned is what counts.
      try? library.close()
      throw error
    }
  }

  fileprivate var again: JoinedPlace {
    waiting(milliseconds: max(wait?.milliseconds ?? 0, Self.longestUndo))
  }

  /// The same with another wait for the process that takes files.
  private func waiting(milliseconds: Int) -> JoinedPlace {
    JoinedPlace(
      search: search, setup: setup, plan: plan, wait: TimeSpan(milliseconds: milliseconds))
  }

  /// For how many milliseconds an undo may keep a watch from its place.
  private static let longestUndo = 600_000

  /// The same with the configuration as it is now.
  func reloaded() throws -> JoinedPlace {
    let new = try LibrarySetup(search)
    guard new.layout.root == setup.layout.root, new.layout.machine == setup.layout.machine,
      new.layout.catalogPlace == setup.layout.catalogPlace
    else {
      throw SessionError(
        .otherLibrary,
        "The configuration now names another library, catalog or machine; that requires a restart.")
    }
    return try JoinedPlace(search, new, wait)
  }
}

extension LibrarySetup {
  /// Refuses what a machine can't do that is not the library's own.
  fileprivate func requireForJoining() throws(ConfigurationErrors) {
    if layout.database == nil {
      throw fault(
        "“joins” needs a catalog that several machines can change: set “catalog” to a postgresql:// URI.",
        at: "/catalog")
    }
    if layout.bucket == nil {
      throw fault(
        "“joins” needs originals that several machines can store: set “originals” to an s3:// location.",
        at: "/originals")
    }
    for (index, source) in configuration.sources.enumerated() where source.duplicates == .file {
      throw fault(
        "“duplicates” can't be “file” on a machine that joins, because its folder has no duplicates/. Use “keep”.",
        at: "/sources/\(index)/duplicates")
    }
  }

  /// Refuses what only a machine that joins can do, and its configuration to verbs that need the library's own folder.
  func requireOwn() throws {
    if configuration.node.joins {
      throw IngestError(
        .notALibrary,
        "That can only be done on the machine with the library's own folder, which this one joins.",
        path: layout.root)
    }
    for (index, source) in configuration.sources.enumerated() where source.shared != nil {
      throw fault(
        "“shared” is for machines that join a library (“node”: {“joins”: true}); the one with the library's own "
          + "folder records what they take.", at: "/sources/\(index)/shared")
    }
  }

  private func fault(_ message: String, at pointer: String) -> ConfigurationErrors {
    ConfigurationErrors(
      ConfigurationError(
        code: .badValue, message: message, pointer: pointer, file: configuration.file))
  }
}
