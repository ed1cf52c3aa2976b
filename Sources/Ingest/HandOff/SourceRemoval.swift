import Files
import PipelineModel

/// Removes source files whose bytes are safe, and folders that became empty by it.
final class SourceRemoval {
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
  /// - Returns: whether the matter is settled: the file is gone, or it is
  ///   another one now; `false` if it can't be removed.
  func remove(_ name: BytePath, in folder: Descriptor, expecting identity: FileIdentity) -> Bool {
    do throws(FileError) {
      guard try folder.status(of: name).identity == identity else { return true }
      try folder.remove(name)
      noteTaken(from: folder.path)
      return true
    } catch let error where error.code == .notFound {
      return true
    } catch {
      if !hasWarned {
        hasWarned = true
        report.warning(
          "\(error.message) Files of “\(source.root.printable)” that can't be removed are "
            + "treated as copied: their bytes are safe, the files stay.")
      }
      return false
    }
  }

  /// Remembers that a file left this folder.
  func noteTaken(from folder: BytePath) {
    if source.removesEmptyFolders { touchedFolders.insert(folder) }
  }

  /// Removes the folders that files left, as far as they are empty, but never the source.
  func removeEmptyFolders() {
    let deepestFirst = touchedFolders.sorted { $0.components.count > $1.components.count }
    for folder in deepestFirst {
      var path = folder
      while let relative = path.relative(to: source.root) {
        do throws(FileError) {
          try source.folder.openParent(of: relative).removeFolder(relative.lastComponent)
        } catch {
          // Not empty, or not ours to remove: it stays, as it does by default.
          break
        }
        path = path.parent
      }
    }
    touchedFolders = []
  }
}
