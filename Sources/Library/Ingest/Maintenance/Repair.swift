import Catalog
import Files
import Manifest
import Originals
import PipelineModel
import Records
import Renditions

package struct RepairResult: Hashable, Sendable {
  /// Problems that are solved, or whose jobs are due again.
  package var repaired = 0
  /// Damaged originals moved to `damaged/`, which are missing until a good copy is imported.
  package var setAside = 0

  package init() {}
}

/// Repairs problems found by `verify`, where possible.
///
/// Each problem is checked again first: it may have been solved, or the file replaced, since.
package struct Repair {
  /// The most problems repaired at once, so that a list of them stays small.
  package static let mostProblems = 10_000

  private let library: IngestLibrary
  private let report: any IngestReport

  package init(library: IngestLibrary, report: any IngestReport) {
    self.library = library
    self.report = report
  }

  /// Repairs what it can; the engine then runs the jobs that are due.
  package func repair(
    _ problems: [VerificationProblem], isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws -> RepairResult {
    var result = RepairResult()
    let named = try named(among: problems)
    for problem in problems {
      if isStopped() { break }
      do {
        // With another record, a catalog that is rebuilt would have two.
        let hasName =
          problem.kind == .originalUnrecorded && problem.digest.map(named.contains) == true
        try repair(problem, mayAdopt: !hasName, isStopped, &result)
      } catch let error as FileError {
        // A problem that can't be repaired remains, and does not keep others from being repaired.
        if error.isStopped { break }
        report.warning(error.message)
      } catch let error as CatalogError where error.concernsRenditions {
        report.warning(error.message)
      }
    }
    report.committed()
    return result
  }

  /// The unrecorded originals of which the manifest has an asset, which the catalog has lost.
  private func named(among problems: [VerificationProblem]) throws -> Set<Digest> {
    let unrecorded = Set(problems.filter { $0.kind == .originalUnrecorded }.compactMap(\.digest))
    var assets: [AssetID: Digest] = [:]
    if unrecorded.isEmpty { return [] }
    var cursor = try library.manifest.entries(after: 0)
    while let entry = try cursor.next() {
      switch entry.fact {
      case .stored(let stored) where unrecorded.contains(stored.digest):
        assets[stored.asset] = stored.digest
      case .purged(let asset, _): assets[asset] = nil
      case .returned(let back): assets[back.asset] = nil
      default: continue
      }
    }
    return Set(assets.values)
  }

  private func repair(
    _ problem: VerificationProblem, mayAdopt: Bool, _ isStopped: @escaping @Sendable () -> Bool,
    _ result: inout RepairResult
  ) throws {
    // While a rendition still has its record.
    let name = try name(of: problem)
    guard let action = mayAdopt ? try act(on: problem, isStopped) : .left else { return }
    if action.isRepaired { result.repaired += 1 }
    if action == .setAside { result.setAside += 1 }
    report.repaired(
      RepairEvent(
        problem: problem, action: action, message: message(of: action, problem.kind, name)))
  }

  /// Does what can be done about a problem.
  ///
  /// - Returns: what was done; `nil` if a warning has said why nothing was.
  private func act(
    on problem: VerificationProblem, _ isStopped: @escaping @Sendable () -> Bool
  ) throws -> RepairEvent.Action? {
    switch problem.kind {
    case .renditionMissing, .renditionDamaged:
      return try makeAgain(problem, isStopped)
    case .originalDamaged:
      return try replace(problem, isStopped)
    case .originalMissing:
      return try restore(problem) ? .restored : .left
    case .renditionUnrecorded:
      return try removeUnrecorded(problem)
    case .incomingLeftover, .workLeftover:
      // Opening the library has dealt with them where possible.
      return isGone(problem) ? .solved : .left
    case .originalUnrecorded:
      guard let digest = problem.digest else { return .left }
      let adoption = Adoption(library: library)
      return try adoption.adopt(digest, isStopped: isStopped) ? .recorded : .left
    case .foreignFile, .catalogDiffers, .unreadable:
      return .left
    }
  }

  /// What messages call the file or rendition concerned.
  private func name(of problem: VerificationProblem) throws -> String {
    if let path = problem.path { return "“\(path.printable)”" }
    guard let record = try problem.rendition.flatMap({ try library.reader.rendition($0) }) else {
      return problem.digest.map { "The file \($0)" } ?? "A file"
    }
    let asset = problem.assets.first.map { " of \($0)" } ?? ""
    return "The rendition \(record.stage)/\(record.name)\(asset)"
  }

  private func message(
    of action: RepairEvent.Action, _ kind: VerificationProblem.Kind, _ name: String
  ) -> String {
    switch action {
    case .dueAgain: "\(name): its job is due again, and makes it anew."
    case .restored: "\(name) is whole again, restored from the local copy."
    case .setAside:
      "\(name) was damaged, and is now in “\(library.originals.damagedPlace.printable)”. Import its file from a good "
        + "copy to restore it."
    case .removed: "\(name) was removed: no record names it."
    case .recorded: "\(name) has a record now, with its digest as its name."
    case .solved: "\(name) is no problem any more."
    case .left: "\(name) stays as it is: \(reason(toLeave: kind))"
    }
  }

  private func reason(toLeave kind: VerificationProblem.Kind) -> String {
    switch kind {
    case .originalMissing: "there is no copy of it here. Import its file to restore it."
    case .originalDamaged: "it can't be read now, or is missing by now."
    case .originalUnrecorded:
      "it is damaged, was deleted and awaits `pipeline gc`, or has its record in the manifest, which "
        + "`pipeline rebuild-catalog` follows."
    case .renditionUnrecorded: "a job may be at work on it, or a record names it by now."
    case .incomingLeftover, .workLeftover:
      "opening the library, which removes what it can, left it."
    case .renditionMissing, .renditionDamaged, .foreignFile, .catalogDiffers, .unreadable:
      "nothing can be done about it here."
    }
  }

  /// Discards a rendition's bytes and makes its job due again.
  private func makeAgain(
    _ problem: VerificationProblem, _ isStopped: @escaping @Sendable () -> Bool
  ) throws -> RepairEvent.Action? {
    guard let id = problem.rendition else { return .left }
    guard let record = try library.reader.rendition(id) else { return .solved }
    let reader = RenditionReader(store: library.renditions, catalog: library.reader)
    if case .whole = try reader.condition(of: record, isStopped: isStopped) { return .solved }
    // The file first: once the job is due, the file at this path may be the new one.
    if let path = record.path { try library.renditions.remove(path) }
    do throws(CatalogError) {
      try library.catalog.invalidate(rendition: id)
    } catch {
      guard error.code == .corrupt, library.layout.database != nil else { throw error }
      // PostgreSQL reads all pages of what it deletes.
      report.warning(
        "The damaged rendition \(record.stage)/\(record.name) can't be removed from the catalog's table "
          + "“rendition_bytes”. “TRUNCATE pipeline.rendition_bytes” empties it, and the next run makes all "
          + "renditions again. \(error.cause ?? error.message)")
      return nil
    }
    return .dueAgain
  }

  /// Heals an original from a local copy of it, if there is one.
  private func restore(_ problem: VerificationProblem) throws -> Bool {
    guard let digest = problem.digest else { return false }
    return try library.originals.restore(digest)
  }

  /// Heals a damaged original from a local copy, or sets it aside.
  private func replace(
    _ problem: VerificationProblem, _ isStopped: @escaping @Sendable () -> Bool
  ) throws -> RepairEvent.Action {
    guard let digest = problem.digest else { return .left }
    let condition = try library.originals.verify(digest, isStopped: isStopped)
    // It was imported again meanwhile.
    if case .whole = condition { return .solved }
    library.verified.remove(digest)
    if try restore(problem) { return .restored }
    switch condition {
    case .damaged: break
    case .unreadable(let error) where error.code == .notRegular: break
    // An original that a disk or a permission makes unreadable may be whole.
    case .whole, .missing, .unreadable: return .left
    }
    return try library.originals.setAside(digest) ? .setAside : .solved
  }

  private func removeUnrecorded(_ problem: VerificationProblem) throws -> RepairEvent.Action {
    guard let whole = problem.path else { return .left }
    let path = whole.relative(to: library.layout.root) ?? whole
    let trees = library.renditions.trees(in: library.folder)
    guard let tree = trees.first(where: { path.relative(to: $0.root) != nil }) else { return .left }
    guard try RenditionFiles(tree: tree, catalog: library.reader).isUnnamed(path) else {
      return try tree.size(of: path) == nil ? .solved : .left
    }
    try tree.remove(path)
    return .removed
  }

  private func isGone(_ problem: VerificationProblem) -> Bool {
    guard let path = problem.path else { return false }
    do throws(FileError) {
      _ = try FileSystem.status(of: path)
      return false
    } catch {
      return error.code == .notFound
    }
  }
}

/// Creates a record for an original that no record refers to.
///
/// Such originals remain if the journal is older than the store, as in a restored library. Their
/// names are unknown, so the digest is the name.
struct Adoption {
  let library: IngestLibrary

  /// Records an original if it is whole, has no record, and does not await `gc`.
  ///
  /// - Returns: whether it has a record now.
  func adopt(_ digest: Digest, isStopped: @escaping @Sendable () -> Bool) throws -> Bool {
    if try library.catalog.hasOriginal(digest) { return true }
    // What an incomplete import stored has a name.
    guard !library.hasInterruptedWork, try !library.reader.isDeleted(digest),
      case .whole = try library.originals.verify(digest, isStopped: isStopped)
    else { return false }
    try record(digest)
    return true
  }

  func record(_ digest: Digest) throws {
    let original = try library.originals.lease(digest)
    let path = original.path
    let status = try withExtendedLifetime(original) { try FileSystem.status(of: path) }
    // As if named to `import`: below the root, and never removed.
    let root = BytePath("/")
    let place = ManifestFact.Intent(
      taking: library.ids.next(), source: root, path: path.relative(to: root) ?? path,
      identity: status.identity, permissions: status.permissions, moves: false, run: nil)
    let stored = ManifestFact.Stored(
      asset: library.ids.next(), digest: digest, intent: place, supersedes: nil)
    let now = Timestamp.now
    let position = try library.manifest.append([.stored(stored)], at: now)
    let sighting = Sighting(
      source: root, path: place.path, state: .imported, identity: place.identity,
      asset: stored.asset, seenAt: now)
    try library.catalog.apply(
      [.asset(NewAsset(stored, importedAt: now)), .sighting(sighting)],
      manifestPosition: library.committed(position), mark: library.mark)
  }
}
