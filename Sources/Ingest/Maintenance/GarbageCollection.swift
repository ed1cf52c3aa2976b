package import Catalog
import Files
import Manifest
import Originals
import PipelineModel

/// What a library contains that nothing needs any more.
package struct Garbage: Hashable, Sendable {
  /// Originals that were deleted permanently.
  package var originals = 0
  /// Their bytes.
  package var originalBytes = 0
  /// Renditions of stages that are no longer configured.
  package var renditions = 0
  /// Their bytes.
  package var renditionBytes = 0
  /// Files below `renditions/` without a record.
  package var files = 0
  /// Their bytes.
  package var fileBytes = 0

  package init() {}

  /// All bytes.
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
  package static func preview(
    library: LibraryFolder, catalog: CatalogReader
  ) throws(IngestError) -> Garbage {
    let survey = try translating {
      GarbageSurvey(
        folder: library.folder, catalog: catalog,
        manifest: try library.openManifest(), originals: try library.openOriginals())
    }
    var garbage = Garbage()
    let former = try translating { try catalog.formerRenditions() }
    garbage.renditions = former.count
    garbage.renditionBytes = former.bytes
    let files = try survey.unnamedFiles()
    garbage.files = files.count
    garbage.fileBytes = files.reduce(0) { $0 + $1.size }
    var page = try survey.deletedOriginals(after: 0)
    while let last = page.listed.last {
      garbage.originals += page.garbage.count
      garbage.originalBytes += page.garbage.reduce(0) { $0 + $1.size }
      page = try survey.deletedOriginals(after: last.sequence)
    }
    return garbage
  }

  /// Removes garbage.
  ///
  /// - Parameter isStopped: whether to stop early.
  package func run(isStopped: () -> Bool) throws(IngestError) -> Garbage {
    var garbage = Garbage()
    var former = try translating { try FormerStages(library.catalog) }
    while !isStopped(), let dropped = try translating({ try former.dropNext() }) {
      garbage.renditions += dropped.count
      garbage.renditionBytes += dropped.bytes
      try DiscardedFiles(library: library).remove()
      report.stillWorking()
    }
    // Includes those listed by a process that was killed before it removed them.
    try DiscardedFiles(library: library).remove()
    let survey = GarbageSurvey(
      folder: library.folder, catalog: library.reader, manifest: library.manifest,
      originals: library.originals)
    for (path, size) in try survey.unnamedFiles() where !isStopped() {
      do throws(FileError) {
        try library.folder.removeIfThere(path)
      } catch {
        report.warning("\(error.message) The next garbage collection tries again.")
        continue
      }
      garbage.files += 1
      garbage.fileBytes += size
    }
    try removeEmptyFolders()
    guard !library.hasInterruptedWork else {
      report.warning(
        "Originals are kept, because a file is not yet fully imported or returned; an earlier "
          + "message says which. Mount its disk, or make room, and collect garbage again.")
      return garbage
    }
    try removeOriginals(survey, isStopped: isStopped, garbage: &garbage)
    return garbage
  }

  private func removeOriginals(
    _ survey: GarbageSurvey, isStopped: () -> Bool, garbage: inout Garbage
  ) throws(IngestError) {
    var page = try survey.deletedOriginals(after: 0)
    while let last = page.listed.last {
      var kept: Set<Digest> = []
      for (digest, size) in page.garbage {
        // A listed original that is already gone leaves the list next time.
        if isStopped() { return }
        do throws(FileError) {
          try library.originals.remove(digest)
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
      try translating { try library.catalog.forgetDeletions(of: done) }
      page = try survey.deletedOriginals(after: last.sequence)
    }
  }

  /// Does nothing while jobs are due: one may be about to write into a folder that is empty now.
  private func removeEmptyFolders() throws(IngestError) {
    try translating {
      guard try !library.reader.hasDueJobs() else { return }
      _ = RenditionFiles(folder: library.folder, catalog: library.reader).removeEmptyFolders()
    }
  }
}
