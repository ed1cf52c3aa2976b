import Catalog
import Configuration
import Files
import PipelineModel
import Records

/// A result of comparing a scan with the catalog, for one path.
enum Finding {
  /// To be examined, and imported if complete.
  case candidate(Candidate)
  /// Its bytes are safe, but a kill came before its source was removed.
  case awaitsRemoval(Sighting, Candidate)
  /// Unchanged; nothing to report.
  case unchanged
  /// Known and no longer there; has the state to record if that is believed.
  case missing(Sighting)
  /// Changed; to be recorded and reported.
  case changed(Sighting)
  /// Changed; to be recorded without being reported.
  case restored(Sighting)
}

/// Compares a scan of a source with the catalog, both in byte order of paths.
struct SourceComparison {
  private var scan: SourceScan
  private let cursor: SightingCursor?
  private let source: IngestSource
  private let now: Timestamp
  private var known: Sighting?
  private var scanned: ScannedEntry?
  /// The number of known paths passed that the scan should find.
  private(set) var expected = 0
  /// The current unreadable or ignored folder: nothing is inferred about paths in it.
  private var blindFolder: BytePath?

  /// - Parameter cursor: what is known; `nil` without a catalog.
  init(scan: SourceScan, cursor: SightingCursor?, source: IngestSource, now: Timestamp) throws {
    self.scan = scan
    self.cursor = cursor
    self.source = source
    self.now = now
    scanned = self.scan.next()
    known = try cursor?.next()
  }

  /// Returns the next finding, or `nil` at the end of both.
  mutating func next() throws -> Finding? {
    while true {
      switch (scanned, known) {
      case (nil, nil):
        return nil
      case (let entry?, let sighting?) where entry.path == sighting.path:
        if sighting.isExpected { expected += 1 }
        scanned = scan.next()
        known = try cursor?.next()
        return finding(entry, sighting)
      case (let entry?, let sighting?) where entry.path < sighting.path:
        scanned = scan.next()
        return finding(entry, try cursor?.impliedSighting(entry.path))
      case (let entry?, nil):
        scanned = scan.next()
        return finding(entry, try cursor?.impliedSighting(entry.path))
      case (_, let sighting?):
        known = try cursor?.next()
        if isHidden(sighting.path) { continue }
        if sighting.isExpected { expected += 1 }
        if let finding = missing(sighting) { return finding }
      }
    }
  }

  private mutating func finding(_ entry: ScannedEntry, _ known: Sighting?) -> Finding {
    switch entry {
    case .file(let path, let identity):
      return Self.finding(path, identity, known, now: now)
    case .ignored(let path, let rule):
      if path.bytes.last == UInt8(ascii: "/") { blindFolder = path }
      if known?.state == .ignored { return .unchanged }
      return .changed(sighting(path, .ignored, asset: known?.asset, reason: rule))
    case .unreadable(let path, let error):
      if path.bytes.last == UInt8(ascii: "/") { blindFolder = path }
      return .changed(sighting(path, .failed, asset: known?.asset, reason: error.message))
    }
  }

  /// Compares a file with what is known of its path.
  static func finding(
    _ path: BytePath, _ identity: FileIdentity, _ known: Sighting?, now: Timestamp
  ) -> Finding {
    let candidate = Candidate(path: path, identity: identity, known: known)
    guard let known, let before = known.identity, before.isSameFile(as: identity) else {
      return .candidate(candidate)
    }
    // Programs can't set ctime: somebody may have written to the file and set its mtime back.
    let isTouched = before.changed != identity.changed
    switch known.state {
    case .imported, .duplicate:
      // Its asset was deleted permanently; nobody asked for its file.
      guard known.asset != nil else { return .unchanged }
      if known.awaitsRemoval { return .awaitsRemoval(known, candidate) }
      return isTouched ? .candidate(candidate) : .unchanged
    case .rejected:
      return isTouched ? .candidate(candidate) : .unchanged
    case .returned:
      return .unchanged
    case .gone where known.asset != nil:
      if isTouched { return .candidate(candidate) }
      // Back unchanged, for example on a disk that was away.
      var sighting = known
      sighting.state = .imported
      sighting.seenAt = now
      return .restored(sighting)
    case .gone, .failed, .settling, .ignored:
      return .candidate(candidate)
    }
  }

  /// Whether a path that the scan did not find may exist all the same. It can't be missed, so it
  /// must not count among those that could be, either.
  private func isHidden(_ path: BytePath) -> Bool {
    blindFolder.map { path.bytes.starts(with: $0.bytes) } ?? false
  }

  /// Handles a known path that the scan did not find.
  private func missing(_ sighting: Sighting) -> Finding? {
    switch sighting.state {
    case .gone:
      return nil
    case .imported, .duplicate, .returned:
      // Without an identity, nothing was left behind that could be missing.
      guard sighting.identity != nil else { return nil }
      if sighting.awaitsRemoval {
        var removed = sighting
        removed.awaitsRemoval = false
        removed.identity = nil
        return .restored(removed)
      }
    case .ignored, .rejected, .settling, .failed:
      break
    }
    return .missing(sighting.gone(at: now))
  }

  private func sighting(
    _ path: BytePath, _ state: Sighting.State, asset: AssetID?, reason: String
  ) -> Sighting {
    Sighting(
      source: source.recorded, path: path, state: state, identity: nil, asset: asset,
      reason: reason,
      seenAt: now)
  }
}

extension Sighting {
  /// This path with its file gone; a path already gone keeps its reason.
  func gone(at time: Timestamp) -> Sighting {
    var gone = self
    if state != .gone { gone.reason = "The file was no longer there." }
    switch state {
    case .imported, .duplicate, .returned, .gone: break
    // The bytes of its asset, if any, are not these: should it return, it must be imported.
    case .ignored, .rejected, .settling, .failed: gone.identity = nil
    }
    gone.state = .gone
    gone.seenAt = time
    return gone
  }
}

extension SourceComparison {
  /// Starts comparing an open source with the catalog.
  ///
  /// - Throws: `IngestError` of code `source` if the source can't be read.
  init(
    of source: IngestSource, configuration: SourceConfiguration, with library: ImportingLibrary,
    now: Timestamp
  ) throws {
    let scan: SourceScan
    do throws(FileError) {
      scan = try SourceScan(
        source.folder, rules: SourceRules(configuration), isRecursive: configuration.recursive,
        exclusion: library.exclusion(), limit: library.pathLimit)
    } catch {
      throw IngestError(.source, error.message, path: source.root, cause: error)
    }
    let cursor = try library.catalog.sightings(of: source.recorded)
    try self.init(scan: scan, cursor: cursor, source: source, now: now)
  }
}
