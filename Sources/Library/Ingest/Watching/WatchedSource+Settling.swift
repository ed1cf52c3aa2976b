import Catalog
import Configuration
import Files
import PipelineModel
import Records

/// Handling of single files of a watched source.
extension WatchedSource {
  /// Makes a file wait; records anything that is not a file.
  func arm(_ path: BytePath, _ change: DirtyPaths.Change, in opened: Opened, now: Instant) throws {
    guard let status = try status(of: path, in: opened) else { return }
    guard status.kind == .regular else { return try noteIgnored(path, status.kind, in: opened) }
    if table.isFull, table[path] == nil { return noteTooManyPaths(now) }
    let entry = table.arm(
      path, change, status.identity, age: Completeness.age(of: status.identity), now: now)
    if table.isLate(entry, now: now) {
      table.markTold(path)
      try noteSettling(path, status.identity, in: opened)
    }
  }

  /// Examines a path, or handles its absence.
  private func status(of path: BytePath, in opened: Opened) throws -> FileStatus? {
    do throws(FileError) {
      return try opened.source.folder.status(below: path)
    } catch let error where [.notFound, .link].contains(error.code) {
      // A vanished file is no error, but what was reported of it must not stay.
      let wasTold = table[path]?.isTold ?? false
      table.remove(path)
      if wasTold { try noteGone(path, in: opened) }
    } catch {
      // A folder that can't be entered: a rescan reports it and retries.
      table.remove(path)
    }
    return nil
  }

  private func known(_ path: BytePath) throws -> Sighting? {
    try library.catalog.sighting(source: recorded, path: path)
  }

  private func noteIgnored(_ path: BytePath, _ kind: FileStatus.Kind, in opened: Opened) throws {
    table.remove(path)
    // What is in a folder has states of its own.
    if kind == .folder { return }
    let known = try known(path)
    if known?.state == .ignored { return }
    try opened.importer.note(
      Sighting(
        source: recorded, path: path, state: .ignored, asset: known?.asset,
        reason: kind.name, seenAt: .now))
    try opened.importer.flush()
  }

  /// Reports once that a file takes longer than one window.
  private func noteSettling(_ path: BytePath, _ identity: FileIdentity, in opened: Opened) throws {
    let known = try known(path)
    if known?.state == .settling { return }
    try opened.importer.note(
      Sighting(
        source: recorded, path: path, state: .settling, identity: identity,
        asset: known?.asset, reason: "It keeps changing.", seenAt: .now))
    try opened.importer.flush()
  }

  private func noteGone(_ path: BytePath, in opened: Opened) throws {
    guard let sighting = try known(path), sighting.state == .settling else { return }
    try opened.importer.note(sighting.gone(at: .now))
    try opened.importer.flush()
  }

  // MARK: Importing

  /// Imports one group of files whose wait is over.
  ///
  /// - Returns: whether more are due.
  func importDue(_ now: Instant) throws -> Bool {
    // After a pause, the rescan finds again what was collected before it.
    group.clear()
    var taken: [BytePath: SettlingTable.Entry] = [:]
    while !group.isFull, let (path, entry) = table.popDue(now: now) {
      guard let opened = try open() else { return false }
      if try look(path, entry, in: opened, now: now) { taken[path] = entry }
    }
    guard !taken.isEmpty, let opened else { return table.hasReady }
    let outcomes = try group.importFiles(by: opened.importer)
    let later = ContinuousClock().now
    for outcome in outcomes where outcome.state == .settling {
      let path = outcome.candidate.path
      // A change in the meantime has already armed it with its new state.
      guard let entry = taken[path], table[path] == nil,
        let status = try status(of: path, in: opened)
      else { continue }
      table.rearm(path, entry, status.identity, isTold: outcome.isNews, now: later)
    }
    return true
  }

  /// Compares a file with what is known of its path.
  ///
  /// - Returns: whether it was added to the group.
  private func look(
    _ path: BytePath, _ entry: SettlingTable.Entry, in opened: Opened, now: Instant
  ) throws -> Bool {
    let finding = SourceComparison.finding(path, entry.identity, try known(path), now: .now)
    switch finding {
    case .unchanged, .changed, .missing:
      return false
    case .restored(let sighting):
      opened.importer.recordSilently(sighting)
      return false
    case .awaitsRemoval(let sighting, let candidate):
      if try opened.importer.finishRemoval(of: sighting) { return false }
      add(candidate, entry)
      return true
    case .candidate(let candidate):
      if wasPutBack(candidate, entry) { return false }
      add(candidate, entry)
      return true
    }
  }

  private func add(_ candidate: Candidate, _ entry: SettlingTable.Entry) {
    var candidate = candidate
    candidate.mustBeQuiet = entry.mustBeQuiet
    if let known = candidate.known, known.identity?.isSameFile(as: candidate.identity) == true {
      candidate.silent.insert(known.state)
    }
    // Settling is reported once, when one window was not enough.
    let isFirstLook = entry.change != .listed && !entry.mustBeQuiet
    if entry.isTold || isFirstLook || candidate.known?.state == .settling {
      candidate.silent.insert(.settling)
    }
    group.add(candidate)
  }

  /// Whether this program failed to import a file and renamed it back: only rescans retry it.
  private func wasPutBack(_ candidate: Candidate, _ entry: SettlingTable.Entry) -> Bool {
    guard entry.change == .movedIn, let known = candidate.known, known.state == .failed
    else { return false }
    return known.identity?.isSameFile(as: candidate.identity) == true
  }
}
