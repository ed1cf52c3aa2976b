import Catalog
import Configuration
import Files
import Glibc
import Manifest
import Originals
import PipelineModel
import Records

/// Imports complete files in groups, in the one order that loses nothing.
///
/// 1. *Intent* in the manifest, durable
/// 2. bytes in `incoming/`, hashed, durable, read-only
/// 3. renamed to `originals/`, folders durable
/// 4. *Stored* in the manifest, durable; then one transaction in the catalog
/// 5. in `move` mode a copied source examined again, then removed; a renamed one went with step 2
///
/// Each step handles a whole group, so that one flush is enough. After a kill between any two
/// steps, `Recovery` completes the import.
final class Importer {
  let library: ImportingLibrary
  let source: IngestSource
  let report: any IngestReport
  private let examination: Examination
  let transfer: IncomingTransfer
  let isStopped: @Sendable () -> Bool
  /// The number of known files found under another name.
  var renames = 0
  let removal: SourceRemoval
  /// What happened to sources since the last commit.
  var pendingChanges: [CatalogChange] = []
  /// States without an import, to be recorded and reported with the next commit.
  private var noted: [Sighting] = []
  private static let notedLimit = 512
  /// If there is no room for a file up to this size, the disk is full; a larger file fails alone,
  /// and the others are imported.
  private static let ordinarySize = 64 << 20

  init(
    library: ImportingLibrary, source: IngestSource, report: any IngestReport,
    isStopped: @escaping @Sendable () -> Bool
  ) throws(FileError) {
    self.library = library
    self.isStopped = isStopped
    self.source = source
    self.report = report
    examination = Examination(source: source, ids: library.ids, isStopped: isStopped)
    let status = try library.incoming.status()
    transfer = IncomingTransfer(
      source: source, incoming: library.incoming, user: geteuid(), device: status.device,
      flush: GroupFlush(library.incoming), isStopped: isStopped)
    removal = SourceRemoval(source: source, library: library, report: report)
  }

  /// Imports a group of candidates and reports each once.
  ///
  /// - Returns: how each ended.
  /// - Throws: `IngestError` of code `noSpace` if the disk is full; files without room are
  ///   untouched, and nothing is recorded or reported about them. Of code `store` if the store can't be
  ///   used; files that are not stored are back in their places.
  @discardableResult
  func importFiles(_ all: [Candidate]) throws -> [ImportGroup.Outcome] {
    // What could not be recorded must not get into the manifest.
    let fitting = all.filter { library.pathLimit?.admits($0.path) ?? true }
    guard !fitting.isEmpty else { return [] }
    try library.requireHold(source.shared)
    try library.endReturns(to: { $0 == source.recorded }, report)
    let settled = fitting.filter { !library.isBeingReturned($0.path, to: source.recorded) }
    let candidates = try library.hasReturned ? withoutReturned(settled) : settled
    guard !candidates.isEmpty else { return [] }
    try library.requireRoom()
    let group = ImportGroup()
    let (attempts, unfit) = try examine(candidates, in: group)
    if attempts.isEmpty {
      if group.hasNews { try commit(group) }
    } else {
      try importFiles(attempts, in: group)
    }
    guard let first = unfit.first else { return group.outcomes }
    // They may fit without the others; each round imports some, or is the last.
    if attempts.isEmpty { throw try library.noRoom(for: source.root.appending(first.path), first) }
    return group.outcomes + (try importFiles(unfit))
  }

  private func importFiles(_ attempts: [ImportAttempt], in group: ImportGroup) throws {
    try report.willRecord()
    group.positionBefore = try library.records.announce(
      attempts.map { .intent($0.intent(source: source, run: library.run)) })
    let received = transferFiles(attempts, in: group)
    try record(received, in: group)
    if let absence = group.absence { throw IngestError.storeAway(absence) }
  }

  /// Stores and records files; as often as others are faster with the same bytes.
  private func record(_ received: [IncomingFile], in group: ImportGroup) throws {
    let (transferred, renamed) = (group.progress, renames)
    var received = received
    while true {
      // An original that was whole before may not be whole now.
      library.verified = []
      try store(received, in: group)
      do {
        return try commit(group)
      } catch is OvertakenImport {
        // What could not be stored is withdrawn and stays so.
        let paths = Set(received.map(\.attempt.candidate.path))
        let ended = group.outcomes.filter {
          $0.attempt == nil && paths.contains($0.candidate.path)
        }
        let absence = group.absence
        (group.progress, renames) = (transferred, renamed)
        group.outcomes += ended
        group.absence = absence
        let endedPaths = Set(ended.map(\.candidate.path))
        received.removeAll { endedPaths.contains($0.attempt.candidate.path) }
      } catch let error as IngestError where error.pausesImports {
        // Nothing of them is recorded, and their sources are in their places.
        for file in received where !file.wasRenamed { try? library.incoming.remove(file.name) }
        throw error
      }
    }
  }

  // MARK: Steps

  /// - Returns: the files to import, and those for which the others leave no room.
  private func examine(
    _ candidates: [Candidate], in group: ImportGroup
  ) throws -> (attempts: [ImportAttempt], unfit: [Candidate]) {
    let examination = examination
    var attempts: [ImportAttempt] = []
    var unfit: [Candidate] = []
    let results = candidates.concurrentMap { ($0, examination.examine($0)) }
    var changed: [(Candidate, ImportAttempt)] = []
    for (candidate, result) in results {
      switch result {
      case .ended(let state, let reason):
        group.end(candidate, state: state, reason: reason)
      case .stranded(let reason):
        group.end(candidate, state: .failed, reason: reason)
      case .next(let attempt):
        if try !isUnchanged(attempt) { changed.append((candidate, attempt)) }
      }
    }
    func needed(_ attempt: ImportAttempt) -> Int {
      transfer.mayRename(attempt) ? 0 : attempt.status.identity.size
    }
    let free = spaceForCopies(changed.map { needed($0.1) })
    var room = free
    for (candidate, attempt) in changed {
      let needed = needed(attempt)
      if let free, needed > Self.ordinarySize, needed > free - library.reserve {
        group.end(candidate, state: .failed, reason: noRoom(needed, free: free))
      } else if let left = room, needed > 0, needed > left - library.reserve {
        unfit.append(candidate)
      } else {
        room = room.map { $0 - needed }
        attempts.append(attempt)
      }
    }
    return (attempts, unfit)
  }

  /// Recognizes a known file whose bytes are unchanged; records its new times.
  private func isUnchanged(_ attempt: ImportAttempt) throws -> Bool {
    let candidate = attempt.candidate
    guard let digest = attempt.digest, var known = candidate.known, let id = known.asset,
      let asset = try library.reader.asset(id), asset.digest == digest,
      !(candidate.isNamed && asset.state == .trashed),
      try candidate.verifiesOriginal ? isStoredWhole(digest) : isThere(digest, size: asset.size)
    else { return false }
    known.identity = attempt.status.identity
    known.seenAt = .now
    if known.state == .gone {
      known.state = .imported
      known.reason = nil
    }
    recordSilently(known)
    guard candidate.isNamed else { return true }
    report.file(
      FileEvent(
        path: source.root.appending(candidate.path), outcome: .duplicate, asset: id,
        reason: "It was imported before and has not changed."))
    return true
  }

  private func noRoom(_ needed: Int, free: Int) -> String {
    "There is no room for its \(ByteSize(bytes: needed)): \(ByteSize(bytes: free)) are free on the "
      + "file system of “\(library.layout.root.printable)”, \(ByteSize(bytes: library.reserve)) of "
      + "which are kept in reserve."
  }

  /// Free bytes where copies go, once local copies of originals have made room for one more file if need be; `nil` if the
  /// file system does not report them.
  private func spaceForCopies(_ sizes: [Int]) -> Int? {
    // Without figures, the copy itself finds out.
    func free() -> Int? { (try? library.incoming.fileSystem())?.freeBytes }
    let sum = sizes.reduce(0, +)
    guard let now = free(), sum > now - library.reserve else { return free() }
    let room = now - library.reserve
    // Those that fit by themselves may not fit together.
    let needed = sizes.filter { $0 > room }.min() ?? sum
    library.originals.makeRoom(needed - room)
    return free()
  }

  /// Leaves an import open: the catalog's position stays before its intent.
  func strand(_ attempt: ImportAttempt, reason: String, in group: ImportGroup) {
    library.records.hold(position: group.positionBefore)
    group.end(attempt.candidate, state: .failed, reason: reason)
  }

  private func transferFiles(_ attempts: [ImportAttempt], in group: ImportGroup) -> [IncomingFile] {
    var received: [IncomingFile] = []
    for (attempt, step) in transfer.run(attempts) {
      if case .next(let value) = step { received.append(value) }
      end(attempt, step, in: group)
    }
    return received
  }

  /// Ends an import that failed.
  func end(_ attempt: ImportAttempt, _ step: StepResult<IncomingFile>, in group: ImportGroup) {
    switch step {
    case .next: break
    case .ended(let state, let reason):
      group.end(attempt.candidate, state: state, reason: reason)
      group.facts.append(.abandoned(taking: attempt.id, reason: reason))
    case .stranded(let reason):
      strand(attempt, reason: reason, in: group)
    }
  }

  private func store(_ received: [IncomingFile], in group: ImportGroup) throws {
    var fresh: [IncomingFile] = []
    var later: [IncomingFile] = []
    var digests: Set<Digest> = []
    for file in received {
      // Before anything is decided on.
      if library.records.comparesAssets {
        try group.seen.look(for: file.digest, in: library.catalog)
      }
      let isKnown = try !library.catalog.assets(with: file.digest).isEmpty
      if isKnown || !digests.insert(file.digest).inserted {
        later.append(file)
      } else {
        fresh.append(file)
      }
    }
    try put(fresh, in: group)
    for file in later {
      guard let asset = try knownAsset(of: file, in: group) else {
        // The file of this group that had the same bytes could not be stored.
        try put([file], in: group)
        continue
      }
      try withdrawingOnFailure(file, in: group) {
        try resolveDuplicate(file, of: asset, in: group)
      }
    }
  }

  /// Turns a file system error about one file into that file's outcome: it is put back.
  private func withdrawingOnFailure(
    _ file: IncomingFile, in group: ImportGroup, _ body: () throws -> Void
  ) throws {
    do {
      try body()
    } catch let error as FileError {
      if error.code == .unavailable { group.absence = error }
      let step: StepResult<IncomingFile> = transfer.withdraw(file, because: error)
      end(file.attempt, step, in: group)
    }
  }

  /// Stores files and records their assets; a file that can't be stored is put back.
  private func put(_ files: [IncomingFile], in group: ImportGroup) throws {
    guard !files.isEmpty else { return }
    let outcomes = try library.originals.put(
      files.map {
        IncomingOriginal(folder: library.incoming, name: $0.name, digest: $0.digest)
      })
    for (file, outcome) in zip(files, outcomes) {
      try withdrawingOnFailure(file, in: group) {
        if case .failed(let error) = outcome { throw error }
        // Stored before a kill, and unreferenced: ours, if it is whole.
        if outcome == .present { try ensureStored(file, in: group) }
        if outcome == .stored, library.originals.leavesFiles {
          group.leave(file, in: library.incoming)
        }
        recordAsset(file, in: group)
      }
    }
  }

  /// Records a new asset for stored bytes.
  func recordAsset(_ file: IncomingFile, in group: ImportGroup) {
    let id = library.ids.next()
    let intent = file.attempt.intent(source: source, run: library.run)
    let known = file.attempt.candidate.known
    let supersedes = source.moves || source.root == BytePath("/") ? nil : known?.asset
    group.facts.append(
      .stored(.init(asset: id, digest: file.digest, intent: intent, supersedes: supersedes)))
    group.assets[file.digest] = id
    group.end(
      file, state: .imported, asset: id, reason: nil, stored: intent.identity.size,
      removesSource: source.moves)
  }

  /// Omits files that were returned since a scan found them.
  private func withoutReturned(_ candidates: [Candidate]) throws -> [Candidate] {
    var others: [Candidate] = []
    for candidate in candidates {
      let now = try library.catalog.sighting(source: source.recorded, path: candidate.path)
      let isReturned =
        candidate.known?.state != .returned && now?.state == .returned
        && now?.identity?.isSameFile(as: candidate.identity) == true
      if !isReturned { others.append(candidate) }
    }
    return others
  }

  private func commit(_ group: ImportGroup) throws {
    if !noted.isEmpty || group.hasNews { try report.willRecord() }
    // One time for manifest and catalog, so that a rebuilt catalog has the same.
    let now = Timestamp.now
    let position = try library.records.write(group.facts, at: now, seen: group.seen)
    library.originals.keepCopies(of: group.uploaded)
    var changes = pendingChanges
    var assets: [NewAsset] = []
    for fact in group.facts {
      switch fact {
      case .stored(let stored): assets.append(NewAsset(stored, importedAt: now))
      case .restored(let asset): changes.append(.restored(asset))
      default: continue
      }
    }
    // Jobs start in this order: the longest first, so that none runs alone at the end while other
    // processors are idle.
    changes += assets.sorted { $0.size > $1.size }.map { .asset($0) }
    changes += noted.map { .sighting($0) }
    changes += group.otherSightings.map { .sighting($0) }
    let outcomes = group.outcomes.filter(\.isNews)
    changes += outcomes.map { .sighting($0.sighting(in: source, run: library.run, at: now)) }
    try library.records.apply(changes, upTo: position)
    pendingChanges = []
    let reported = noted
    noted = []
    for name in group.leftovers {
      do throws(FileError) {
        try library.incoming.remove(name)
      } catch {
        report.warning("\(error.message) The next start removes it.")
      }
    }
    for outcome in group.outcomes { try removeSource(outcome, at: now) }
    // An original that was whole a while ago may not be whole now.
    library.verified = []
    for var sighting in reported {
      // Here, a path is that of this machine.
      sighting.source = source.root
      report.file(FileEvent(sighting))
    }
    for outcome in outcomes { report.file(outcome.event(in: source)) }
    report.committed()
  }

  // MARK: States without an import

  /// Records and reports a state without an import, with the next commit.
  func note(_ sighting: Sighting) throws {
    if let limit = library.pathLimit, !limit.admits(sighting.path) { return }
    noted.append(sighting)
    if noted.count >= Self.notedLimit { try commit(ImportGroup()) }
  }

  /// Records a state without reporting it, with the next commit.
  func recordSilently(_ sighting: Sighting) { pendingChanges.append(.sighting(sighting)) }

  /// Records a state that a scan found, without reporting it, soon: after `rebuild-catalog`, every
  /// file ever moved has one.
  func recordRestored(_ sighting: Sighting) throws {
    recordSilently(sighting)
    if pendingChanges.count >= Self.notedLimit { try commit(ImportGroup()) }
  }

  /// Commits what no later group will.
  func flush() throws {
    if !pendingChanges.isEmpty || !noted.isEmpty { try commit(ImportGroup()) }
  }

  /// Commits what no later group will, and removes emptied folders.
  func finish() throws {
    try flush()
    removal.removeEmptyFolders()
  }
}
