import Files
import Glibc
import Manifest
import Originals
import PipelineModel

/// Ends an interrupted return, judging by what exists.
///
/// An original still in the store is still the library's; one that is not was renamed to its place,
/// and only the remaining steps are done there.
struct ReturnRecovery {
  let library: ImportingLibrary
  let sources: LocalSources
  let report: any IngestReport

  /// Finds out how far a return came, and ends it.
  ///
  /// - Returns: the fact that ends it.
  func resolve(_ back: ManifestFact.Return) throws -> ManifestFact {
    switch back.action {
    case .renamed: try resolveRename(back)
    case .copied, .left: try resolveCopy(back)
    }
  }

  private func resolveRename(_ back: ManifestFact.Return) throws -> ManifestFact {
    if try library.originals.isThere(back.digest) { return abandoned(back) }
    guard let (folder, file) = try open(back), try library.digest(of: file) == back.digest else {
      report.warning(
        "The return of “\(SourceFile(back.place).path.printable)” was interrupted. Its original "
          + "\(back.digest) is no longer in the library, and its place now holds something else, "
          + "or nothing.")
      // It was there, and its owner has moved or changed it since.
      return .returned(back)
    }
    return .returned(try ReturnedFile(file: file, folder: folder).finish(back))
  }

  private func resolveCopy(_ back: ManifestFact.Return) throws -> ManifestFact {
    try removeTemporary(of: back)
    guard let (folder, file) = try open(back),
      try !library.originals.isOriginal(file.status(), back.digest),
      try file.status().identity.size == back.place.identity.size,
      try library.digest(of: file) == back.digest
    else { return abandoned(back) }
    try file.sync()
    try folder.sync()
    var ended = back
    ended.place.identity = try file.status().identity
    return .returned(ended)
  }

  private func abandoned(_ back: ManifestFact.Return) -> ManifestFact {
    .abandoned(taking: back.place.taking, reason: "The program ended before it was returned.")
  }

  /// Opens the file in its place, with its folder; `nil` if there is none.
  private func open(
    _ back: ManifestFact.Return
  ) throws(FileError) -> (folder: Descriptor, file: Descriptor)? {
    do throws(FileError) {
      guard let folder = try parent(of: back) else { return nil }
      let file = try Descriptor.open(
        back.place.path.lastComponent, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      return try file.status().kind == .regular ? (folder, file) : nil
    } catch let error where [.notFound, .link].contains(error.code) {
      return nil
    }
  }

  /// Opens the folder of the file's place; `nil` if its source is none of this machine any more.
  private func parent(of back: ManifestFact.Return) throws(FileError) -> Descriptor? {
    guard let source = sources.path(of: back.place.source) else { return nil }
    return try Descriptor.openFolder(source).openParent(of: back.place.path)
  }

  private func removeTemporary(of back: ManifestFact.Return) throws(FileError) {
    do throws(FileError) {
      try parent(of: back)?.remove(ReturnedFile.temporaryName(of: back.place.taking))
    } catch let error where [.notFound, .link].contains(error.code) {
      return
    }
  }
}
