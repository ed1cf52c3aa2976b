import Catalog
import Configuration
import Files
import PipelineModel

/// One source of a watch, from kernel events to the import.
///
/// Confined to one thread, which calls `work` whenever something may be due. The source is kept
/// open only while there is work: an open folder prevents unmounting.
final class WatchedSource {
  typealias Instant = ContinuousClock.Instant

  /// How changes are found.
  enum Phase {
    /// The source is missing; when to look for it again.
    case away(Instant)
    /// By kernel events.
    case watched(FolderWatcher)
    /// By scanning it.
    case polled
  }

  struct Opened {
    let source: IngestSource
    let importer: Importer
  }

  let configuration: SourceConfiguration
  /// The source's path as it is recorded.
  var recorded: BytePath { library.layout.recorded(configuration) }
  let library: ImportingLibrary
  let report: any WatchReport
  /// The interval of full scans, whatever the kernel reports.
  let rescan: Duration
  private let isStopped: @Sendable () -> Bool
  private let wakeup: Wakeup

  private(set) var phase: Phase
  /// Whether the source was reported as away.
  private var isAwayTold = false
  /// The source's status when it was found.
  private var node: FileStatus?
  private(set) var opened: Opened?
  var table: SettlingTable
  var group = CandidateGroup()
  var schedule: RescanSchedule
  var scan: SourceRescan?
  private var overflows = 0
  /// Whether too many missing files were reported.
  var isRefusalTold = false
  /// When something was last done.
  private var lastWork: Instant
  /// When there was last found to be nothing to do.
  private var lastRest: Instant

  init(
    _ configuration: SourceConfiguration, library: ImportingLibrary, rescan: Duration,
    report: any WatchReport, wakeup: Wakeup, isStopped: @escaping @Sendable () -> Bool
  ) {
    self.configuration = configuration
    self.library = library
    self.rescan = rescan
    self.report = report
    self.wakeup = wakeup
    self.isStopped = isStopped
    let now = ContinuousClock().now
    phase = .away(now)
    lastWork = now
    lastRest = now
    table = SettlingTable(configuration)
    schedule = RescanSchedule(rescan: rescan, now: now)
  }

  // MARK: Work

  /// Does a bounded piece of what is due.
  ///
  /// - Returns: whether more is due at once.
  func work() throws -> Bool {
    let now = ContinuousClock().now
    if case .away(let moment) = phase {
      if now >= moment { try look(now) }
      if case .away = phase { return false }
    }
    do {
      try drainEvents(now)
      var isBusy = try importDue(now)
      if try continueRescan(now) { isBusy = true }
      if isBusy { lastWork = ContinuousClock().now } else { try rest(now) }
      return isBusy
    } catch let error as IngestError where error.code == .held {
      try leave(error.message, for: Self.holdPause)
      return false
    }
  }

  func begin() throws { try look(ContinuousClock().now) }

  /// When `work` has something to do without any event.
  var nextDeadline: Instant {
    if case .away(let moment) = phase { return moment }
    var next = schedule.next
    if let due = table.nextDue { next = min(next, due) }
    if opened != nil { next = min(next, max(lastWork, lastRest) + .seconds(1)) }
    return next
  }

  /// Requests a scan, because what was due when the disk was full is forgotten.
  func requestRescan() { schedule.demand(ContinuousClock().now, isSpecial: true) }

  /// Commits everything to the catalog.
  func flush() throws { try opened?.importer.flush() }

  func finish() throws {
    try opened?.importer.finish()
    opened = nil
  }

  /// Closes the source after a while without work.
  private func rest(_ now: Instant) throws {
    guard let opened, now - max(lastWork, lastRest) >= .seconds(1) else { return }
    lastRest = now
    // The kernel does not report the removal of an open folder.
    guard isInPlace(opened.source) else { return try leave(Self.removed(configuration)) }
    try opened.importer.flush()
    guard now - lastWork >= idleTime else { return }
    opened.importer.removal.removeEmptyFolders(unchangedFor: Self.folderRest)
    self.opened = nil
  }

  private static func removed(_ configuration: SourceConfiguration) -> String {
    "“\(configuration.path.printable)” was removed, renamed or unmounted."
  }

  /// Emptied folders are removed only when nobody seems to be filling them any more.
  private var idleTime: Duration {
    configuration.emptyFolders == .remove ? Self.folderRest + .seconds(1) : .seconds(1)
  }

  /// How long an emptied folder must have been unchanged.
  static let folderRest = Duration.seconds(60)

  // MARK: The folder

  /// Opens the source; gives it up if it is missing.
  func open() throws -> Opened? {
    if let opened { return opened }
    do throws(FileError) {
      let source = try IngestSource(configuration, for: library.layout)
      guard let node, try source.folder.status().isSameNode(as: node) else {
        throw FileError(
          .changed, "“\(configuration.path.printable)” is now a different folder.",
          path: configuration.path)
      }
      return try open(source)
    } catch {
      try leave(error.message)
      return nil
    }
  }

  private func open(_ source: IngestSource) throws(FileError) -> Opened {
    let opened = Opened(
      source: source,
      importer: try Importer(
        library: library, source: source, report: report, isStopped: isStopped))
    self.opened = opened
    lastWork = ContinuousClock().now
    return opened
  }

  /// Whether the path still leads to the folder that is open.
  func isInPlace(_ source: IngestSource) -> Bool {
    do throws(FileError) {
      let now = try Descriptor.openFolder(configuration.path).status()
      return try now.isSameNode(as: source.folder.status())
    } catch {
      return false
    }
  }

  /// Looks for the source; watches it if it exists.
  private func look(_ now: Instant) throws {
    do {
      let source = try IngestSource.open(configuration, for: library)
      node = try source.folder.status()
      let wasAway = isAwayTold
      if wasAway { report.watch(.returned(source: configuration.path)) }
      isAwayTold = false
      try watch(source)
      _ = try open(source)
      schedule.demand(now, isSpecial: wasAway)
    } catch let error as FileError {
      try leave(error.message)
    } catch let error as IngestError where error.code == .source {
      try leave(error.message)
    } catch let error as IngestError where error.code == .held {
      try leave(error.message, for: Self.holdPause)
    }
  }

  /// How often to ask for a source that another machine holds.
  private static let holdPause = Duration.seconds(5)

  private func watch(_ source: IngestSource) throws(FileError) {
    let exclusion = try library.exclusion()
    do throws(FileError) {
      if let name = try source.folder.fileSystem().networkName { return poll(.silent(name)) }
      let wakeup = wakeup
      let watch = try FolderWatcher(
        source.folder, configuration: configuration, exclusion: exclusion,
        onChange: { wakeup.wake() })
      phase = .watched(watch)
      report.watch(.watched(source: configuration.path, folders: watch.count))
    } catch {
      poll(Self.reason(error))
    }
  }

  private static func reason(_ error: FileError) -> WatchEvent.PollingReason {
    switch error.code {
    case .watchLimit: .watchLimit
    case .watcherLimit: .watcherLimit
    default: .failed(error.message)
    }
  }

  /// Polls the source from now on, as the kernel does not report everything.
  private func poll(_ reason: WatchEvent.PollingReason) {
    phase = .polled
    schedule.isPolling = true
    schedule.demand(ContinuousClock().now, isSpecial: false)
    report.watch(.polled(source: configuration.path, reason: reason))
  }

  /// Gives up a missing source: nothing is inferred about its files.
  func leave(_ reason: String, for pause: Duration = .seconds(1)) throws {
    try opened?.importer.flush()
    opened = nil
    scan = nil
    table.removeAll()
    schedule.isPolling = false
    phase = .away(ContinuousClock().now + pause)
    if !isAwayTold { report.watch(.away(source: configuration.path, reason: reason)) }
    isAwayTold = true
  }

  // MARK: Events

  /// Makes files wait that the kernel reports.
  private func drainEvents(_ now: Instant) throws {
    guard case .watched(let watch) = phase else { return }
    let dirty = watch.consumeChanges()
    if dirty.overflows > 0 {
      overflows += dirty.overflows
      report.watch(.overflowed(source: configuration.path, times: overflows))
      schedule.demand(now, isSpecial: true)
    }
    if dirty.isCut { noteTooManyPaths(now) }
    switch dirty.end {
    case nil: break
    case .rootIsGone:
      return try leave(Self.removed(configuration))
    case .failed(let error): poll(Self.reason(error))
    case .silent(let name): poll(.silent(name))
    }
    guard !dirty.paths.isEmpty, let opened = try open() else { return }
    for (path, change) in dirty.paths {
      try arm(path, change, in: opened, now: now)
    }
  }

  /// Handles more paths than can be kept.
  func noteTooManyPaths(_ now: Instant) {
    report.watch(.crowded(source: configuration.path))
    schedule.demand(now, isSpecial: true)
  }
}
