import Files
import PipelineModel

/// Removes source files whose bytes are safe, and folders that became empty by it.
final class SourceRemoval {
  /// What came of it.
  enum Outcome {
    /// The file is gone, or it is another one now.
    case settled
    /// It can't be removed, and stays for good.
    case kept
    /// The disk or the machine refused for now: it is tried again by the next look.
    case later
  }

  private let source: IngestSource
  private let report: any IngestReport
  private var hasWarned = false
  private var touchedFolders: Set<BytePath> = []

  init(source: IngestSource, report: any IngestReport) {
    self.source = source
    self.report = report
  }

  /// Removes a file if it still is what was hashed.
  ///
  /// - Parameter original: the stored original, which must be another file: a
  ///   source that is a bind mount of the library would show its only copy.
  func remove(
    _ name: BytePath, in folder: Descriptor, expecting identity: FileIdentity,
    keeping original: BytePath
  ) -> Outcome {
    let path = folder.path.appending(name)
    do throws(FileError) {
      let status = try folder.status(of: name)
      guard status.identity == identity else { return .settled }
      guard try isAnotherFile(original, than: status) else {
        throw FileError(.other, "“\(path.printable)” is the stored original itself.", path: path)
      }
      try folder.remove(name)
      noteTaken(from: folder.path)
      return .settled
    } catch let error where error.code == .notFound && error.path == path {
      return .settled
    } catch let error where [.ioError, .busy, .tooManyOpen, .noSpace].contains(error.code) {
      report.warning("\(error.message) Its bytes are safe; removing it is tried again.")
      return .later
    } catch {
      if !hasWarned {
        hasWarned = true
        report.warning(
          "\(error.message) Files of “\(source.root.printable)” that can't be removed are "
            + "treated as copied: their bytes are safe, the files stay.")
      }
      return .kept
    }
  }

  private func isAnotherFile(
    _ original: BytePath, than source: FileStatus
  ) throws(FileError) -> Bool {
    let stored = try FileSystem.status(of: original)
    return stored.device != source.device || stored.identity.inode != source.identity.inode
  }

  /// Remembers that a file left this folder.
  func noteTaken(from folder: BytePath) {
    if source.removesEmptyFolders { touchedFolders.insert(folder) }
  }

  /// Removes the folders that files left, as far as they are empty, but never the source.
  ///
  /// - Parameter rest: a folder that had a change more recently stays until the
  ///   next call: somebody may be about to put more into it.
  func removeEmptyFolders(unchangedFor rest: Duration = .zero) {
    let deepestFirst = touchedFolders.sorted { $0.components.count > $1.components.count }
    touchedFolders = []
    for folder in deepestFirst {
      var path = folder
      while let relative = path.relative(to: source.root) {
        do throws(FileError) {
          let parent = try source.folder.openParent(of: relative)
          let status = try parent.status(of: relative.lastComponent)
          let age = Timestamp.now.microseconds - status.identity.modified / 1000
          guard rest == .zero || .microseconds(age) >= rest else {
            touchedFolders.insert(path)
            break
          }
          try parent.removeFolder(relative.lastComponent)
        } catch {
          // Not empty, or not ours to remove: it stays, as it does by default.
          break
        }
        path = path.parent
      }
    }
  }
}
