import Catalog
import Configuration
import Files
import PipelineModel

/// One source of a watch, from the first word of the kernel to the hand-off.
///
/// For one thread, which calls `work` whenever something may be due. The source
/// is kept open only while there is something to do: an open folder keeps its
/// file system from being unmounted.
final class WatchedSource {
  typealias Instant = ContinuousClock.Instant

  /// How changes are heard of.
  enum Phase {
    /// It is not there; when it is looked for again.
    case away(Instant)
    /// By the kernel's word.
    case watched(FolderWatch)
    /// By looking through it.
    case polled
  }

  /// A source that is being worked on.
  struct Opened {
    let source: IngestSource
    let handOff: HandOff
  }

  let configuration: SourceConfiguration
  let library: IngestLibrary
  let report: any WatchReport
  /// How often all is looked through, whatever the kernel says.
  let rescan: Duration
  private let isStopped: @Sendable () -> Bool
  private let wakeup: Wakeup

  private(set) var phase: Phase
  /// Whether it was told that the source is away.
  private var isAwayTold = false
  /// The source as it was when it was found.
  private var node: FileStatus?
  private(set) var opened: Opened?
  var table: SettlingTable
  var group = CandidateGroup()
  var schedule: RescanSchedule
  /// The look through the source that is under way.
  var scan: SourceRescan?
  private var overflows = 0
  /// Whether it was told that too many files are missing.
  var isRefusalTold = false
  /// When something was last done.
  private var lastWork: Instant
  /// When it was last found that there is nothing to do.
  private var lastRest: Instant

  init(
    _ configuration: SourceConfiguration, library: IngestLibrary, rescan: Duration,
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
  func work() throws(IngestError) -> Bool {
    let now = ContinuousClock().now
    if case .away(let moment) = phase {
      if now >= moment { try look(now) }
      if case .away = phase { return false }
    }
    try hear(now)
    var isBusy = try takeDue(now)
    if try lookThrough(now) { isBusy = true }
    if isBusy { lastWork = ContinuousClock().now } else { try rest(now) }
    return isBusy
  }

  /// Looks for the source and watches it.
  func begin() throws(IngestError) { try look(ContinuousClock().now) }

  /// When `work` has something to do though nothing is heard.
  var nextDeadline: Instant {
    if case .away(let moment) = phase { return moment }
    var next = schedule.next
    if let due = table.nextDue { next = min(next, due) }
    if opened != nil { next = min(next, max(lastWork, lastRest) + .seconds(1)) }
    return next
  }

  /// Looks through it when next there is time: what was due when the disk was full is forgotten.
  func lookAgain() { schedule.demand(ContinuousClock().now, isSpecial: true) }

  /// Tells the catalog all that it has not been told.
  func flush() throws(IngestError) { try opened?.handOff.flush() }

  /// Ends the work on the source.
  func finish() throws(IngestError) {
    try opened?.handOff.finish()
    opened = nil
  }

  /// Lets the source go when there has been nothing to do for a while.
  private func rest(_ now: Instant) throws(IngestError) {
    guard let opened, now - max(lastWork, lastRest) >= .seconds(1) else { return }
    lastRest = now
    // The kernel does not tell of the removal of a folder that is open.
    guard isInPlace(opened.source) else { return try leave(Self.removed(configuration)) }
    try opened.handOff.flush()
    guard now - lastWork >= idleTime else { return }
    opened.handOff.removeEmptyFolders(unchangedFor: Self.folderRest)
    self.opened = nil
  }

  private static func removed(_ configuration: SourceConfiguration) -> String {
    "“\(configuration.path.printable)” was removed, renamed or unmounted."
  }

  /// Emptied folders are removed only when nobody seems to be filling them any more.
  private var idleTime: Duration {
    configuration.emptyFolders == .remove ? Self.folderRest + .seconds(1) : .seconds(1)
  }

  /// How long an emptied folder must have been left alone.
  static let folderRest = Duration.seconds(60)

  // MARK: The folder

  /// Opens the source, or finds that it is away.
  func open() throws(IngestError) -> Opened? {
    if let opened { return opened }
    do throws(FileError) {
      let source = try IngestSource(configuration)
      guard let node, try source.folder.status().isSameNode(as: node) else {
        throw FileError(
          .changed, "“\(configuration.path.printable)” is another folder now.",
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
      handOff: try HandOff(
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

  /// Looks for the source; watches it if it is there.
  private func look(_ now: Instant) throws(IngestError) {
    do throws(IngestError) {
      let source = try IngestSource.open(configuration, for: library)
      node = try status(of: source)
      let wasAway = isAwayTold
      if wasAway { report.watch(.returned(source: configuration.path)) }
      isAwayTold = false
      try watch(source)
      _ = try translating { try open(source) }
      schedule.demand(now, isSpecial: wasAway)
    } catch let error where [.source, .file].contains(error.code) {
      try leave(error.message)
    }
  }

  private func status(of source: IngestSource) throws(IngestError) -> FileStatus {
    try translating { try source.folder.status() }
  }

  private func watch(_ source: IngestSource) throws(IngestError) {
    let fence = try translating { try library.fence() }
    do throws(FileError) {
      if let name = try source.folder.fileSystem().networkName { return poll(.silent(name)) }
      let wakeup = wakeup
      let watch = try FolderWatch(
        source.folder, configuration: configuration, fence: fence,
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

  /// Looks through the source from now on, as the kernel does not tell all.
  private func poll(_ reason: WatchEvent.PollingReason) {
    phase = .polled
    schedule.isPolling = true
    schedule.demand(ContinuousClock().now, isSpecial: false)
    report.watch(.polled(source: configuration.path, reason: reason))
  }

  /// Gives a source up that is not there: nothing is inferred about its files.
  func leave(_ reason: String) throws(IngestError) {
    try opened?.handOff.flush()
    opened = nil
    scan = nil
    table.removeAll()
    schedule.isPolling = false
    phase = .away(ContinuousClock().now + .seconds(1))
    if !isAwayTold { report.watch(.away(source: configuration.path, reason: reason)) }
    isAwayTold = true
  }

  // MARK: What is heard

  /// Lets files wait that the kernel tells of.
  private func hear(_ now: Instant) throws(IngestError) {
    guard case .watched(let watch) = phase else { return }
    let dirty = watch.take()
    if dirty.overflows > 0 {
      overflows += dirty.overflows
      report.watch(.overflowed(source: configuration.path, times: overflows))
      schedule.demand(now, isSpecial: true)
    }
    if dirty.isCut { crowd(now) }
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

  /// Answers more paths than can be kept.
  func crowd(_ now: Instant) {
    report.watch(.crowded(source: configuration.path))
    schedule.demand(now, isSpecial: true)
  }
}
