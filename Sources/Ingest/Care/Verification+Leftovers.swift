import Catalog
import Files
import PipelineModel

extension Verification {
  /// Reports what a killed run left behind.
  ///
  /// While somebody works on the library, all of it may be somebody's work in hand.
  func checkLeftovers(_ report: (VerificationProblem) -> Void) throws {
    guard try !isLocked else { return }
    try checkTemporary(library.layout.incoming, .incomingLeftover, report)
    try checkTemporary(library.layout.work, .workLeftover, report)
    try checkUnrecordedRenditions(report)
  }

  var isLocked: Bool {
    get throws(FileError) { try FileLock.isHeld(LibraryLayout.lock, in: library.folder) }
  }

  private func checkTemporary(
    _ path: BytePath, _ kind: VerificationProblem.Kind, _ report: (VerificationProblem) -> Void
  ) throws {
    for entry in try Self.entries(of: path) {
      let path = path.appending(entry.name)
      report(
        .init(
          kind: kind, digest: nil, path: path,
          message: "“\(path.printable)” was left by a run that was killed; the next one deals "
            + "with it."))
    }
  }

  /// What is in a folder; nothing where it is missing, as in a restored library.
  private static func entries(of path: BytePath) throws(FileError) -> [FolderEntry] {
    do throws(FileError) {
      return try Descriptor.openFolder(path, followsLinks: false).entries()
    } catch let error where error.code == .notFound {
      return []
    }
  }

  /// A kill between the commit that lets a rendition go and the removal of its file leaves one.
  private func checkUnrecordedRenditions(_ report: (VerificationProblem) -> Void) throws {
    let unnamed = try RenditionFiles(folder: library.folder, catalog: catalog)
      .unnamed(withDue: true)
    // What a run that began meanwhile has not committed yet is not named either.
    guard try !isLocked else { return }
    for path in unnamed {
      let path = library.layout.root.appending(path)
      report(
        .init(
          kind: .renditionUnrecorded, digest: nil, path: path,
          message: "No record names “\(path.printable)”; `pipeline gc` removes it."))
    }
  }
}
