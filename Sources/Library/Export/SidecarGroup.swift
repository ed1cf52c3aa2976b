import Catalog
import Files
import Hashing
import Ingest
import PipelineModel

/// The XMP sidecars of a group of exported files, named as the files with `.xmp`.
struct SidecarGroup: Sendable {
  struct Sidecar: Sendable {
    let asset: AssetRecord
    /// The path of the exported file; `nil` until that has its name.
    let file: BytePath?
    let bytes: [UInt8]
    let temporary: BytePath

    var digest: Digest { SHA256.digest(of: bytes) }
  }

  private(set) var sidecars: [Sidecar] = []

  var count: Int { sidecars.count }

  mutating func add(_ sidecar: Sidecar) { sidecars.append(sidecar) }

  mutating func removeAll() { sidecars = [] }

  /// Writes all as staged files, which are not flushed yet.
  func stage(in staging: Descriptor) -> [Result<Descriptor, FileError>] {
    sidecars.concurrentMap { sidecar in
      Result { () throws(FileError) in
        let file = try StagedExport.make(sidecar.temporary, in: staging)
        try file.write(sidecar.bytes)
        return file
      }
    }
  }

  /// Gives a staged sidecar its name. One of an earlier export, which nobody changed, is replaced.
  ///
  /// - Parameter file: the path of the exported file.
  /// - Returns: its path.
  /// - Throws: `FileError` of code `exists` if somebody else's file has the name.
  static func name(
    _ sidecar: Sidecar, beside file: BytePath, in folder: inout ExportFolder,
    listedIn list: inout ChecksumList?
  ) throws(FileError) -> BytePath {
    let path = Self.path(beside: file)
    do throws(FileError) {
      try folder.rename(sidecar.temporary, to: path)
    } catch let error where error.code == .exists {
      let found = try folder.digest(of: path)
      if found == sidecar.digest {
        try folder.staging.remove(sidecar.temporary)
        try folder.flush(path)
      } else if let found, list?.hasRecorded(found, of: path) == true {
        // First, so that the next export knows the file whenever this one is killed.
        try list?.append([(path, sidecar.digest)])
        try folder.replace(sidecar.temporary, at: path)
      } else {
        let path = folder.root.path.appending(path)
        throw FileError(
          .exists,
          "“\(path.printable)” is not of an earlier export, or was changed since, so it was left alone. "
            + "Move it away and export again.", path: path)
      }
    }
    return path
  }

  static func path(beside file: BytePath) -> BytePath {
    BytePath(bytes: file.bytes + Array(".xmp".utf8))
  }
}
