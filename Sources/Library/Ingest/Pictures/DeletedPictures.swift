import Files
import PipelineModel

/// Removes the pictures made on demand of originals that are deleted.
struct DeletedPictures {
  let library: IngestLibrary

  /// Reports pictures that can't be removed: nobody can ask for them without an asset.
  func remove(of digest: Digest, report: any IngestReport) {
    do throws(FileError) {
      try PictureCache.ifPresent(in: library.folder)?.remove(digest)
    } catch {
      report.warning("\(error.message) Remove renditions/.on-demand/ by hand.")
    }
  }
}
