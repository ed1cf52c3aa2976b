import Catalog
import Files
import Glibc
import Manifest
import Originals
import PipelineModel
import Records

/// A group of assets of one run that are returned together.
struct ReturnGroup {
  let library: ImportingLibrary
  let run: AssetID
  let report: any IngestReport
  let folders: ReturnFolders
  let isStopped: () -> Bool

  /// What examining an asset and its place found.
  private enum Inspection {
    /// The bytes are already in their place.
    case left(ManifestFact.Return)
    /// They are to be returned from this original.
    case give(ManifestFact.Return, original: Descriptor)
    case failed(reason: String)
    case stopped
  }

  private enum Outcome {
    case returned(ManifestFact.Return)
    case failed(taking: AssetID?, reason: String)
    /// How far it came is unknown: the next start finds out.
    case open(reason: String)
  }

  /// Returns what can be returned, and reports each path.
  ///
  /// - Parameter assets: the newest first.
  /// - Throws: `OvertakenImport` if others changed what is known of the assets.
  func returnFiles(_ assets: [AssetOrigin], result: inout UndoResult) throws {
    guard let newest = assets.first?.id, let oldest = assets.last?.id else { return }
    let relations = try library.reader.relations(ofOrigins: run, from: oldest, through: newest)
    var inspections: [(origin: AssetOrigin, inspection: Inspection)] = []
    for origin in assets {
      let inspection = inspect(at: origin, relations)
      if case .stopped = inspection { break }
      inspections.append((origin, inspection))
    }
    let intents = inspections.compactMap { pair -> ManifestFact? in
      if case .give(let back, _) = pair.inspection { .returning(back) } else { nil }
    }
    let position = try library.records.announce(intents)
    var outcomes: [(origin: AssetOrigin, outcome: Outcome)] = []
    for (origin, inspection) in inspections {
      let outcome: Outcome
      switch inspection {
      case .left(let back): outcome = .returned(back)
      case .failed(let reason): outcome = .failed(taking: nil, reason: reason)
      case .give(let back, let original): outcome = give(back, from: original)
      case .stopped: continue
      }
      if case .open = outcome { library.records.hold(position: position) }
      outcomes.append((origin, outcome))
    }
    try commit(outcomes.map(\.outcome))
    try library.records.endReturns(of: Set(outcomes.map(\.origin.id)))
    for (origin, outcome) in outcomes { tell(outcome, of: origin, result: &result) }
  }

  private func commit(_ outcomes: [Outcome]) throws {
    var facts: [ManifestFact] = []
    let now = Timestamp.now
    for outcome in outcomes {
      switch outcome {
      case .returned(let back):
        facts.append(.returned(back))
        library.verified.remove(back.digest)
        library.hasReturned = true
      case .failed(let taking?, let reason):
        facts.append(.abandoned(taking: taking, reason: reason))
      case .failed, .open:
        continue
      }
    }
    let position = try library.records.write(facts, at: now, seen: SeenAssets())
    let first = position - Int64(facts.count) + 1
    let changes = facts.enumerated().compactMap { offset, fact -> CatalogChange? in
      guard case .returned(let back) = fact else { return nil }
      return .returned(back.asset, back.sighting(at: now), sequence: first + Int64(offset))
    }
    try library.records.apply(changes, upTo: position)
    try library.removeDiscardedFiles()
  }

  private func tell(_ outcome: Outcome, of origin: AssetOrigin, result: inout UndoResult) {
    var event = FileEvent(
      path: folders.path(of: origin.path, in: origin.source), outcome: .returned, asset: origin.id)
    switch outcome {
    case .returned(let back):
      event.path = folders.path(of: back.place.path, in: back.place.source)
      result.returned += 1
      if back.action == .left {
        result.left += 1
        event.reason = "It was copied and is still there."
      }
    case .failed(_, let reason), .open(let reason):
      event.outcome = .failed
      event.reason = reason
      result.failed += 1
    }
    report.file(event)
  }

  // MARK: Looking

  private func inspect(at origin: AssetOrigin, _ relations: OriginRelations) -> Inspection {
    do {
      if let path = relations.letGo[origin.id] {
        return .failed(reason: ReturnRefusal.needed(origin, by: path))
      }
      for path in relations.otherPaths[origin.id] ?? [] {
        if let back = try leftFile(of: origin, at: path) { return .left(back) }
      }
      let (folder, isWhole) = try folders.deepest(of: origin.path, in: origin.source)
      guard try isWhole || !folders.isNamed(in: origin.source) else {
        return .failed(reason: ReturnRefusal.withoutFolder(origin))
      }
      if isWhole, let status = try folder.statusIfThere(of: origin.path.lastComponent) {
        if status.kind == .regular, let back = try leftFile(of: origin, at: origin.path) {
          return .left(back)
        }
        return .failed(reason: ReturnRefusal.taken(origin))
      }
      return try inspectOriginal(of: origin, folder: folder)
    } catch {
      if error.isStopped { return .stopped }
      return .failed(reason: "\(error)")
    }
  }

  /// The return of a file that is there with the same bytes; `nil` for any other.
  private func leftFile(of origin: AssetOrigin, at path: BytePath) throws -> ManifestFact.Return? {
    let (folder, isWhole) = try folders.deepest(of: path, in: origin.source)
    guard isWhole else { return nil }
    guard let status = try folder.statusIfThere(of: path.lastComponent),
      status.kind == .regular, status.identity.size == origin.size
    else { return nil }
    try requireStaying(path, in: origin.source)
    let file = try Descriptor.open(
      path.lastComponent, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    let before = try file.status()
    guard try file.hash(isStopped: isStopped).digest == origin.digest else { return nil }
    let after = try file.status()
    guard before.identity == after.identity,
      try !library.originals.isOriginal(after, origin.digest)
    else { return nil }
    // Its bytes may soon be nowhere else.
    try file.sync()
    try folder.sync()
    return back(of: origin, at: path, identity: after.identity, .left)
  }

  /// Refuses a file of a shared source that another machine may still remove.
  private func requireStaying(_ path: BytePath, in source: BytePath) throws {
    guard MachinePath.sharedName(of: source) != nil,
      try library.catalog.sighting(source: source, path: path)?.awaitsRemoval == true
    else { return }
    throw IngestError(
      .source,
      "It was imported, and has still to be removed from the shared source. `pipeline run` does that; then undo the run "
        + "again.", path: path)
  }

  /// Reads the original and decides how to return it.
  private func inspectOriginal(of origin: AssetOrigin, folder: Descriptor) throws -> Inspection {
    let found = try ifThere { () throws(FileError) in try library.originals.open(origin.digest) }
    guard let original = found,
      try original.hash(isStopped: isStopped).digest == origin.digest
    else { return .failed(reason: ReturnRefusal.lost(origin)) }
    let mayRename = try mayRename(original, of: origin, to: folder)
    var identity = try original.status().identity
    identity.modified = origin.modified
    let back = back(of: origin, at: origin.path, identity: identity, mayRename ? .renamed : .copied)
    return .give(back, original: original)
  }

  /// Whether nothing else needs the original, this user may set its mode and time, and a rename brings it to its
  /// destination.
  private func mayRename(
    _ original: Descriptor, of origin: AssetOrigin, to folder: Descriptor
  ) throws -> Bool {
    let (status, user) = (try original.status(), geteuid())
    return try library.originals.releases
      && library.catalog.assets(with: origin.digest) == [origin.id] && status.links == 1
      && (user == 0 || status.owner == user) && folder.status().device == status.device
      && folder.mountNumber() == original.mountNumber()
  }

  private func back(
    of origin: AssetOrigin, at path: BytePath, identity: FileIdentity,
    _ action: ManifestFact.Return.Action
  ) -> ManifestFact.Return {
    ManifestFact.Return(
      asset: origin.id, digest: origin.digest, action: action,
      place: .init(
        taking: library.ids.next(), source: origin.source, path: path, identity: identity,
        permissions: origin.permissions, moves: action == .renamed, run: library.run))
  }

  // MARK: Returning

  private func give(_ back: ManifestFact.Return, from original: Descriptor) -> Outcome {
    do {
      let folder = try folders.folder(of: back.place.path, in: back.place.source)
      if back.action == .renamed { return rename(back, original, to: folder) }
      return .returned(try copy(back, original, to: folder))
    } catch {
      return .failed(taking: back.place.taking, reason: Self.describe(error))
    }
  }

  private static func describe(_ error: any Error) -> String {
    guard (error as? FileError)?.code == .exists else { return "\(error)" }
    return "Another file is in its place now; nothing was replaced. Move that file away and undo "
      + "the run again."
  }

  private func rename(
    _ back: ManifestFact.Return, _ original: Descriptor, to folder: Descriptor
  ) -> Outcome {
    let name = back.place.path.lastComponent
    let taking = back.place.taking
    do throws(FileError) {
      try library.originals.release(back.digest, to: folder, as: name)
      guard try folder.status(of: name).isSameNode(as: original.status()) else {
        throw FileError(
          .changed, "“\(name.printable)” is not the file that was read.", path: folder.path)
      }
      return .returned(try ReturnedFile(file: original, folder: folder).finish(back))
    } catch {
      let reason = Self.describe(error)
      if (try? library.originals.isThere(back.digest)) == true {
        // It never left the store.
        return .failed(taking: taking, reason: reason)
      }
      do throws(FileError) {
        guard try folder.status(of: name).isSameNode(as: original.status()) else {
          return .open(reason: "\(reason) The next run deals with it.")
        }
        try original.setPermissions(0o444)
        _ = try library.originals.put(
          IncomingOriginal(folder: folder, name: name, digest: back.digest))
        return .failed(taking: taking, reason: reason)
      } catch {
        return .open(reason: "\(reason) The next run deals with it.")
      }
    }
  }

  private func copy(
    _ back: ManifestFact.Return, _ original: Descriptor, to folder: Descriptor
  ) throws(FileError) -> ManifestFact.Return {
    let temporary = ReturnedFile.temporaryName(of: back.place.taking)
    let file = try Descriptor.open(
      temporary, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    var name = temporary
    do throws(FileError) {
      guard try file.fill(from: original) == back.digest else {
        throw FileError(
          .changed, "“\(original.path.printable)” changed while it was read.",
          path: original.path)
      }
      let returned = ReturnedFile(file: file, folder: folder)
      try returned.restore(back)
      try folder.rename(temporary, to: folder, as: back.place.path.lastComponent)
      name = back.place.path.lastComponent
      try folder.sync()
      var ended = back
      ended.place.identity = try file.status().identity
      return ended
    } catch {
      // Clean-up: only what was made here is removed, and the original is where it was.
      try? folder.remove(name)
      throw error
    }
  }
}
