package import Catalog
import Files
import Glibc
import Manifest
import Originals
import PipelineModel
import Records
import Renditions
import Synchronization

/// What a library contains that nothing needs any more.
package struct Garbage: Hashable, Sendable {
  /// Originals that were deleted permanently.
  package var originals = 0
  package var originalBytes = 0
  /// Renditions of stages that are no longer configured, and bytes in their database without a record.
  package var renditions = 0
  package var renditionBytes = 0
  /// Files below `renditions/` without a record, and a database of renditions that is not used any more.
  package var files = 0
  package var fileBytes = 0

  package init() {}

  package var bytes: Int { originalBytes + renditionBytes + fileBytes }
}

/// Removes what nothing needs any more.
///
/// An original is removed only if the manifest deletes it, neither the catalog nor a later fact
/// gives it an asset, and no import is incomplete. Removals are independent, so a kill only leaves
/// some for the next time.
package struct GarbageCollection {
  private let library: IngestLibrary
  private let report: any IngestReport

  package init(library: IngestLibrary, report: any IngestReport) {
    self.library = library
    self.report = report
  }

  /// Returns what would be removed; reads only.
  package static func preview(library: LibraryFolder, catalog: CatalogReader) throws -> Garbage {
    let survey = GarbageSurvey(
      trees: try library.renditions(catalog).trees(in: library.folder), catalog: catalog,
      manifest: try library.openManifest(), originals: try library.openOriginals())
    var garbage = Garbage()
    let former = try catalog.formerRenditions()
    garbage.renditions = former.count
    garbage.renditionBytes = former.bytes
    do {
      try addUnnamedBytes(in: catalog, to: &garbage)
    } catch let error as CatalogError where error.concernsRenditions {
      // Other garbage does not depend on it, and `run` reports it.
    }
    let files = try survey.unnamedFiles()
    garbage.files = files.count
    garbage.fileBytes = files.reduce(0) { $0 + $1.size }
    do throws(FileError) {
      if let former = try FormerRenditionDatabase(library.layout) { garbage.add(former) }
    } catch {
      // Nor on this, which `run` leaves with a warning.
    }
    var page = try survey.deletedOriginals(after: 0)
    while let last = page.listed.last {
      garbage.originals += page.garbage.count
      garbage.originalBytes += page.garbage.reduce(0) { $0 + $1.size }
      page = try survey.deletedOriginals(after: last.sequence)
    }
    return garbage
  }

  private static func addUnnamedBytes(
    in catalog: CatalogReader, to garbage: inout Garbage
  ) throws {
    var key: RenditionKey?
    while let page = try catalog.unnamedBytes(after: key, limit: GarbageSurvey.pageSize) {
      garbage.renditions += page.count
      garbage.renditionBytes += page.bytes
      key = page.last
    }
  }

  package func run(isStopped: () -> Bool) throws -> Garbage {
    var garbage = Garbage()
    var former = try FormerStages(library.catalog)
    while !isStopped(), let dropped = try former.dropNext() {
      garbage.renditions += dropped.count
      garbage.renditionBytes += dropped.bytes
      try DiscardedFiles(library: library).remove()
      report.stillWorking()
    }
    try forgetAttempts(isStopped: isStopped)
    // Includes those listed by a process that was killed before it removed them.
    try DiscardedFiles(library: library).remove()
    do {
      try removeUnnamedBytes(isStopped: isStopped, garbage: &garbage)
    } catch let error as CatalogError where error.concernsRenditions {
      report.warning(error.message)
    }
    let survey = GarbageSurvey(
      trees: library.renditions.trees(in: library.folder), catalog: library.reader,
      manifest: library.manifest,
      originals: library.originals)
    try removeUnnamedFiles(survey, isStopped: isStopped, garbage: &garbage)
    try forgetEmptyPlaces()
    removeFormerDatabase(garbage: &garbage)
    try removeEmptyFolders()
    guard !library.hasInterruptedWork else {
      report.warning(
        "Originals are kept, because a file is not yet fully imported or returned; an earlier "
          + "message says which. Mount its disk, or make room, and collect garbage again.")
      return garbage
    }
    do {
      try library.requireNewestManifest()
    } catch let error as FileError {
      report.warning(
        "\(error.message) Originals are kept; the next garbage collection tries again.")
      return garbage
    }
    try removeRemnantsOfOriginals(&garbage)
    try removeRemnantsOfRenditions(&garbage)
    try removeOriginals(survey, isStopped: isStopped, garbage: &garbage)
    return garbage
  }

  /// For how long each attempt at a job is known.
  private static let retention: Int64 = 90 * 24 * 3600 * 1_000_000

  /// Forgets old attempts at jobs, but for the last of each.
  private func forgetAttempts(isStopped: () -> Bool) throws {
    let time = Timestamp(microseconds: Timestamp.now.microseconds - Self.retention)
    var last: Int64? = 0
    while !isStopped(), let start = last {
      last = try library.catalog.forgetAttempts(before: time, after: start)
      report.stillWorking()
    }
  }

  /// Forgets former places of renditions that have none any more.
  private func forgetEmptyPlaces() throws {
    for bucket in library.renditions.former
    where try !library.reader.hasRenditionFiles(below: bucket.place) {
      // It may never have been there, or be gone for good.
      if (try? bucket.isEmpty()) == true { try library.forget(bucket) }
    }
  }

  /// Removes what was not stored completely, and ends uploads that nobody goes on with.
  private func removeRemnantsOfOriginals(_ garbage: inout Garbage) throws {
    // This process holds the library's lock, so imports wait; but machines that join store without it.
    if library.originals is BucketStore, try library.catalog.hasCompany() { return }
    do throws(FileError) {
      garbage.files += try library.originals.removeRemnants()
    } catch {
      report.warning("\(error.message) The next garbage collection tries again.")
    }
  }

  /// Ends uploads of renditions that nobody goes on with.
  private func removeRemnantsOfRenditions(_ garbage: inout Garbage) throws {
    // Others may be storing some.
    guard let bucket = library.renditions.bucket, try !library.catalog.hasCompany(),
      try !library.reader.hasDueJobs()
    else { return }
    do throws(FileError) {
      garbage.files += try bucket.removeRemnants()
    } catch {
      report.warning("\(error.message) The next garbage collection tries again.")
    }
  }

  /// Removes what a kill left in the database of renditions.
  private func removeUnnamedBytes(isStopped: () -> Bool, garbage: inout Garbage) throws {
    var key: RenditionKey?
    while !isStopped(),
      let page = try library.catalog.removeUnnamedBytes(after: key, limit: GarbageSurvey.pageSize)
    {
      garbage.renditions += page.count
      garbage.renditionBytes += page.bytes
      key = page.last
      report.stillWorking()
    }
  }

  private func removeUnnamedFiles(
    _ survey: GarbageSurvey, isStopped: () -> Bool, garbage: inout Garbage
  ) throws {
    let files = try survey.unnamedFiles {
      report.warning("\($0.message) The next garbage collection tries again.")
    }
    for (tree, path, size) in files where !isStopped() {
      // A job may have begun to make it since all folders were read.
      guard try RenditionFiles(tree: tree, catalog: library.reader).isUnnamed(path) else {
        continue
      }
      do throws(FileError) {
        try tree.remove(path)
      } catch {
        report.warning("\(error.message) The next garbage collection tries again.")
        continue
      }
      garbage.files += 1
      garbage.fileBytes += size
    }
  }

  private func removeFormerDatabase(garbage: inout Garbage) {
    do throws(FileError) {
      guard let former = try FormerRenditionDatabase(library.layout) else { return }
      try former.remove()
      garbage.add(former)
    } catch {
      report.warning("\(error.message) The next garbage collection tries again.")
    }
  }

  private func removeOriginals(
    _ survey: GarbageSurvey, isStopped: () -> Bool, garbage: inout Garbage
  ) throws {
    var page = try survey.deletedOriginals(after: 0)
    while let last = page.listed.last {
      var kept: Set<Digest> = []
      var isLate = false
      // Also after an error.
      defer { if isLate { awaitLateRemoval(isStopped: isStopped) } }
      for (digest, size) in page.garbage {
        // A listed original that is already gone leaves the list next time.
        if isStopped() { return }
        if isLate {
          kept.insert(digest)
          continue
        }
        do throws(FileError) {
          try library.originals.remove(digest) { isLate = true }
        } catch {
          report.warning("\(error.message) The next garbage collection tries again.")
          kept.insert(digest)
          continue
        }
        library.verified.remove(digest)
        garbage.originals += 1
        garbage.originalBytes += size
      }
      let done = page.listed.map(\.digest).filter { !kept.contains($0) }
      try removePictures(of: done)
      try library.catalog.forgetDeletions(of: done)
      if isLate { return }
      page = try survey.deletedOriginals(after: last.sequence)
    }
  }

  /// How long a store, or what is between it and this machine, may take to perform a request that it did not answer.
  private static let lateness = Duration.seconds(300)

  /// Waits with the library's lock, so that nothing is recorded whose bytes a request without an answer may still remove.
  private func awaitLateRemoval(isStopped: () -> Bool) {
    func mustEnd() -> Bool {
      isStopped() || CurrentProcess.isAskedToEnd.load(ordering: .relaxed)
    }
    let sentence =
      "The store did not answer a request to delete an original, and may perform it later."
    report.warning(
      mustEnd()
        ? "\(sentence) Import nothing of what was deleted for five minutes, or `pipeline verify` afterwards."
        : "\(sentence) So that it removes nothing that was imported since, nothing is imported for five minutes: let this "
          + "process go on until then. The next garbage collection does the rest.")
    let end = ContinuousClock.now + Self.lateness
    while ContinuousClock.now < end, !mustEnd() {
      report.stillWorking()
      usleep(100_000)
    }
  }

  /// Removes the pictures made on demand of originals that no asset has any more.
  private func removePictures(of digests: [Digest]) throws {
    for digest in digests where try library.reader.assets(with: digest).isEmpty {
      DeletedPictures(library: library).remove(of: digest, report: report)
    }
  }

  /// Does nothing while jobs are due: one may be about to write into a folder that is empty now.
  private func removeEmptyFolders() throws {
    guard try !library.reader.hasDueJobs() else { return }
    RenditionFolderTree(folder: library.folder).removeEmptyFolders()
  }
}
