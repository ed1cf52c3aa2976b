import Catalog
import Files
import Glibc
import PipelineModel

extension Verification {
  /// Reports what a killed run left behind.
  ///
  /// While another process works on the library, all of it may be work in progress.
  func checkLeftovers(_ pass: Pass, _ report: (VerificationProblem) -> Void) throws {
    guard try !isLocked else { return }
    checkTemporary(library.layout.incoming, .incomingLeftover, report)
    checkTemporary(library.layout.work, .workLeftover, report)
    try checkUnrecordedRenditions(pass, report)
  }

  private func checkTemporary(
    _ path: BytePath, _ kind: VerificationProblem.Kind, _ report: (VerificationProblem) -> Void
  ) {
    let entries: [FolderEntry]
    do throws(FileError) {
      entries = try library.openPart(path).entries()
    } catch {
      // A missing folder, as in a restored library, holds nothing.
      if error.errno != ENOENT {
        report(.init(kind: .unreadable, path: path, message: error.message))
      }
      return
    }
    // Others may work there, and use again what is left.
    for entry in entries where entry.name != Workplace.places {
      let path = path.appending(entry.name)
      report(
        .init(
          kind: kind, path: path,
          message: "A killed run left “\(path.printable)”; the next run deals with it, or reports "
            + "that it belongs to something else: then move it away."))
    }
  }

  /// A kill between the commit that drops a rendition and the removal of its file leaves one.
  private func checkUnrecordedRenditions(
    _ pass: Pass, _ report: (VerificationProblem) -> Void
  ) throws {
    for tree in try library.renditions(catalog).trees(in: library.folder) {
      try check(RenditionFiles(tree: tree, catalog: catalog), pass, report)
    }
  }

  private func check(
    _ files: RenditionFiles, _ pass: Pass, _ report: (VerificationProblem) -> Void
  ) throws {
    var count = 0
    try files.forEachUnnamed {
      try pass.begin(.renditionFolders(count), in: library.layout.renditions)
      count += 1
    } _: { found in
      // What a run that began meanwhile has not committed yet has no record either.
      guard try !isLocked else { return }
      switch found {
      case .success(let path):
        // A job that is due makes it anew, or goes with its asset in the trash.
        guard try files.isUnnamed(path) else { return }
        let path =
          path.utf8.map { library.layout.place(ofRendition: $0) }
          ?? library.layout.root.appending(path)
        report(
          .init(
            kind: .renditionUnrecorded, path: path,
            message: "No record names “\(path.printable)”; `pipeline gc` removes it."))
      case .failure(let error):
        report(.init(kind: .unreadable, path: error.path, message: error.message))
      }
    }
  }
}
