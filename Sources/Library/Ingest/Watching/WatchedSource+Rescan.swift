import Catalog
import Configuration
import Files
import PipelineModel
import Records

/// A scan of a source in progress, in pieces between imports.
struct SourceRescan {
  var comparison: SourceComparison
  /// Whether to retry failed files.
  let isFull: Bool
  /// Whether it has a reason other than the interval.
  let isSpecial: Bool
  var spent = Duration.zero
  var missing: MissingFiles
  /// Whether files were skipped because too many wait.
  var isCut = false

  /// How long one piece may take.
  static let piece = Duration.milliseconds(50)
}

/// Scanning a source completely, as `run` does.
extension WatchedSource {
  /// Does a piece of a scan of the source, if one is due.
  ///
  /// - Returns: whether more of it is left.
  func continueRescan(_ now: Instant) throws -> Bool {
    if scan == nil {
      guard now >= schedule.next, try begin(now) else { return false }
    }
    guard var scan, let opened = try open() else { return false }
    // Taken out, because handling a finding may end the scan.
    self.scan = nil
    let clock = ContinuousClock()
    let start = clock.now
    let end = start + SourceRescan.piece
    var isAtEnd = false
    while !isAtEnd, clock.now < end {
      if let finding = try scan.comparison.next() {
        try answer(finding, &scan, in: opened, now: now)
      } else {
        isAtEnd = true
      }
    }
    scan.spent += clock.now - start
    if case .away = phase { return false }
    if isAtEnd { try self.end(scan, in: opened) } else { self.scan = scan }
    return !isAtEnd
  }

  private func begin(_ now: Instant) throws -> Bool {
    guard let opened = try open() else { return false }
    guard isInPlace(opened.source) else {
      try leave("“\(configuration.path.printable)” is no longer the same folder.")
      return false
    }
    if case .watched(let watch) = phase { watch.refresh() }
    let isSpecial = schedule.isSpecial
    let isFull = schedule.begin(now)
    do {
      let comparison = try SourceComparison(
        of: opened.source, configuration: configuration, with: library, now: .now)
      scan = SourceRescan(
        comparison: comparison, isFull: isFull, isSpecial: isSpecial,
        missing: MissingFiles(allowed: configuration.maxMissing, renames: opened.importer.renames))
      return true
    } catch let error as IngestError where error.code == .source {
      try leave(error.message)
      return false
    }
  }

  private func end(_ scan: SourceRescan, in opened: Opened) throws {
    let refusal = try opened.importer.recordMissing(
      scan.missing, of: scan.comparison.expected, configuration: configuration)
    if let refusal, !isRefusalTold { report.warning(refusal.message) }
    isRefusalTold = refusal != nil
    try opened.importer.flush()
    opened.importer.removal.removeEmptyFolders(unchangedFor: Self.folderRest)
    let now = ContinuousClock().now
    schedule.end(now, duration: scan.spent)
    if scan.isCut { schedule.demand(now + .seconds(2), isSpecial: false) }
    report.watch(
      .rescanned(
        source: configuration.path, seconds: scan.spent / .seconds(1), isSpecial: scan.isSpecial))
  }

  private func answer(
    _ finding: Finding, _ scan: inout SourceRescan, in opened: Opened, now: Instant
  ) throws {
    switch finding {
    case .unchanged:
      break
    case .candidate(let candidate), .awaitsRemoval(_, let candidate):
      if !scan.isFull, hasFailed(candidate) { break }
      if table[candidate.path] != nil { break }
      if table.isFull {
        scan.isCut = true
      } else {
        table.arm(
          candidate.path, .listed, candidate.identity,
          age: Completeness.age(of: candidate.identity), now: now)
      }
    case .missing(let sighting):
      scan.missing.add(sighting.path)
    case .changed(let sighting):
      try note(sighting, scan, in: opened, now: now)
    case .restored(let sighting):
      if sighting.identity != nil || opened.source.isMissing(sighting.path) {
        try opened.importer.recordRestored(sighting)
      }
    }
  }

  private func hasFailed(_ candidate: Candidate) -> Bool {
    candidate.known?.state == .failed
      && candidate.known?.identity?.isSameFile(as: candidate.identity) == true
  }

  private func note(
    _ sighting: Sighting, _ scan: SourceRescan, in opened: Opened, now: Instant
  ) throws {
    if sighting.state == .failed {
      if !scan.isFull { return }
      let known = try library.catalog.sighting(source: sighting.source, path: sighting.path)
      if known?.state == .failed, known?.reason == sighting.reason { return }
    }
    try opened.importer.note(sighting)
  }
}

/// When to scan a source completely.
struct RescanSchedule {
  typealias Instant = ContinuousClock.Instant

  /// The interval of scans, whatever the kernel reports.
  let rescan: Duration
  /// Whether scans are the only way to find changes.
  var isPolling = false {
    didSet { if !isPolling { duration = .zero } }
  }
  private(set) var next: Instant
  /// Whether the next scan has a reason other than the interval.
  private(set) var isSpecial = false
  private var duration = Duration.zero
  /// When to retry failed files.
  private var nextFull: Instant

  private static let shortest = Duration.seconds(2)

  init(rescan: Duration, now: Instant) {
    // Without a minimum, a rescan would always be due with an interval of zero.
    self.rescan = max(rescan, .seconds(1))
    next = now
    nextFull = now
  }

  mutating func demand(_ now: Instant, isSpecial: Bool) {
    next = min(next, now)
    nextFull = min(nextFull, now)
    self.isSpecial = self.isSpecial || isSpecial
  }

  /// - Returns: whether to retry failed files.
  mutating func begin(_ now: Instant) -> Bool {
    let isFull = now >= nextFull
    if isFull { nextFull = now + rescan }
    next = now + rescan
    isSpecial = false
    return isFull
  }

  /// Ends a scan that took this long.
  mutating func end(_ now: Instant, duration: Duration) {
    self.duration = duration
    next = min(next, now + interval)
  }

  /// The time between two scans: scanning takes at most a tenth of the time.
  var interval: Duration {
    isPolling ? min(rescan, max(Self.shortest, duration * 10)) : rescan
  }
}
