import Catalog
import Configuration
import Files
import PipelineModel

/// Scanning a source completely, as `run` does.
extension WatchedSource {
  /// Does a piece of a scan of the source, if one is due.
  ///
  /// - Returns: whether more of it is left.
  func continueRescan(_ now: Instant) throws(IngestError) -> Bool {
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

  private func begin(_ now: Instant) throws(IngestError) -> Bool {
    guard let opened = try open() else { return false }
    guard isInPlace(opened.source) else {
      try leave("“\(configuration.path.printable)” is no longer the same folder.")
      return false
    }
    if case .watched(let watch) = phase { watch.refresh() }
    let isSpecial = schedule.isSpecial
    let isFull = schedule.begin(now)
    do throws(IngestError) {
      let comparison = try SourceComparison(
        of: opened.source, configuration: configuration, with: library, now: .now)
      scan = SourceRescan(
        comparison: comparison, isFull: isFull, isSpecial: isSpecial,
        missing: MissingFiles(
          allowed: configuration.maxMissing, renames: opened.importer.renames))
      return true
    } catch let error where error.code == .source {
      try leave(error.message)
      return false
    }
  }

  private func end(_ scan: SourceRescan, in opened: Opened) throws(IngestError) {
    let refusal = try opened.importer.recordMissing(
      scan.missing, of: scan.comparison.expected, configuration: configuration)
    if let refusal, !isRefusalTold { report.warning(refusal.message) }
    isRefusalTold = refusal != nil
    try opened.importer.flush()
    opened.importer.removeEmptyFolders(unchangedFor: Self.folderRest)
    let now = ContinuousClock().now
    schedule.end(now, duration: scan.spent)
    if scan.isCut { schedule.demand(now + .seconds(2), isSpecial: false) }
    report.watch(
      .rescanned(
        source: configuration.path, seconds: scan.spent / .seconds(1), isSpecial: scan.isSpecial))
  }

  private func answer(
    _ finding: Finding, _ scan: inout SourceRescan, in opened: Opened, now: Instant
  ) throws(IngestError) {
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
          candidate.path, .listed, candidate.identity, age: Self.age(candidate.identity),
          now: now)
      }
    case .missing(let sighting):
      scan.missing.add(sighting.path)
    case .changed(let sighting):
      try note(sighting, scan, in: opened, now: now)
    case .restored(let sighting):
      if sighting.identity != nil || !isThere(sighting.path, in: opened) {
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
  ) throws(IngestError) {
    if sighting.state == .failed {
      if !scan.isFull { return }
      let known = try translating {
        try library.catalog.sighting(source: sighting.source, path: sighting.path)
      }
      if known?.state == .failed, known?.reason == sighting.reason { return }
    }
    try opened.importer.note(sighting)
  }

  private func isThere(_ path: BytePath, in opened: Opened) -> Bool {
    do throws(FileError) {
      _ = try opened.source.folder.openParent(of: path).status(of: path.lastComponent)
      return true
    } catch {
      // A path that can't be examined may exist.
      return error.code != .notFound
    }
  }
}
