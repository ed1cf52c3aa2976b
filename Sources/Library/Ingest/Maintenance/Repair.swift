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
    for problem in problems {
      if isStopped() { break }
      do {
        try repair(problem, isStopped, &result)
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

  private func repair(
    _ problem: VerificationProblem, _ isStopped: @escaping @Sendable () -> Bool,
    _ result: inout RepairResult
  ) throws {
    switch problem.kind {
    case .renditionMissing, .renditionDamaged:
      if try makeAgain(problem, isStopped) { result.repaired += 1 }
    case .originalDamaged:
      if try restore(problem, isStopped) {
        result.repaired += 1
      } else if try setAside(problem, isStopped) {
        result.setAside += 1
      }
    case .originalMissing:
      if try restore(problem, isStopped) { result.repaired += 1 }
    case .renditionUnrecorded:
      if try removeUnrecorded(problem) { result.repaired += 1 }
    case .incomingLeftover, .workLeftover:
      // Opening the library has dealt with them where possible.
      if isGone(problem) { result.repaired += 1 }
    case .originalUnrecorded:
      guard let digest = problem.digest else { return }
      let adoption = Adoption(library: library)
      if try adoption.adopt(digest, isStopped: isStopped) { result.repaired += 1 }
    case .foreignFile, .catalogDiffers, .unreadable:
      return
    }
  }

  /// Discards a rendition's bytes and makes its job due again.
  private func makeAgain(
    _ problem: VerificationProblem, _ isStopped: @escaping @Sendable () -> Bool
  ) throws -> Bool {
    guard let id = problem.rendition else { return false }
    guard let record = try library.reader.rendition(id) else { return true }
    let reader = RenditionReader(store: library.renditions, catalog: library.reader)
    if case .whole = try reader.condition(of: record, isStopped: isStopped) { return true }
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
      return false
    }
    return true
  }

  /// Heals an original from a local copy of it, if there is one.
  private func restore(
    _ problem: VerificationProblem, _ isStopped: @escaping @Sendable () -> Bool
  ) throws -> Bool {
    guard let digest = problem.digest, try library.originals.restore(digest) else { return false }
    report.warning("The original \(digest) is whole again, restored from the local copy.")
    return true
  }

  private func setAside(
    _ problem: VerificationProblem, _ isStopped: @escaping @Sendable () -> Bool
  ) throws -> Bool {
    guard let digest = problem.digest else { return false }
    switch try library.originals.verify(digest, isStopped: isStopped) {
    case .damaged: break
    case .unreadable(let error) where error.code == .notRegular: break
    // An original that a disk or a permission makes unreadable may be whole.
    case .whole, .missing, .unreadable: return false
    }
    try library.originals.setAside(digest)
    library.verified.remove(digest)
    report.warning(
      "Moved the damaged original \(digest) to “\(library.originals.damagedPlace.printable)”. Import its "
        + "file from a good copy to restore it.")
    return true
  }

  private func removeUnrecorded(_ problem: VerificationProblem) throws -> Bool {
    guard let path = problem.path?.relative(to: library.layout.root) else { return false }
    let files = RenditionFiles(folder: library.folder, catalog: library.reader)
    guard try files.isUnnamed(path) else { return isGone(problem) }
    try library.folder.removeIfThere(path)
    return true
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
