import Catalog
import Files
import Glibc
import Hashing
import Ingest
import PipelineModel
import Records

/// The XMP sidecars of a group of exported files, named as the files with `.xmp`.
///
/// One of an earlier export is replaced if `SHA256SUMS` has its digest, so nobody changed it, and it is
/// about the same asset, so it is no original that happens to have this name.
struct SidecarGroup: Sendable {
  struct Sidecar: Sendable {
    let asset: AssetRecord
    /// The path of the exported file; `nil` until that has its name.
    let file: BytePath?
    let packet: XMPSidecar
    let temporary: BytePath
  }

  /// What became of sidecars.
  struct Outcome {
    /// Those that are there, to be listed.
    var there: [(path: BytePath, digest: Digest)] = []
    /// The number of those.
    var count = 0
    var failed: [(asset: AssetRecord, path: BytePath, error: FileError)] = []
  }

  /// A sidecar that is to replace a former one.
  private struct Replacement {
    let sidecar: Sidecar
    let path: BytePath
    let former: Digest
  }

  private(set) var sidecars: [Sidecar] = []

  var count: Int { sidecars.count }

  mutating func add(_ sidecar: Sidecar) { sidecars.append(sidecar) }

  mutating func removeAll() { sidecars = [] }

  /// The sidecar's path; of a very long name the end is left out.
  static func path(beside file: BytePath) -> BytePath {
    let suffix = Array(".xmp".utf8)
    let name = file.lastComponent.bytes.firstCharacters(ofAtMost: FileName.mostBytes - suffix.count)
    return file.parent.appending(BytePath(bytes: name + suffix))
  }

  /// Writes all as staged files, which are not flushed yet.
  func stage(in staging: Descriptor) -> [Result<Descriptor, FileError>] {
    sidecars.concurrentMap { sidecar in
      Result { () throws(FileError) in
        let file = try StagedExport.make(sidecar.temporary, in: staging)
        try file.write(sidecar.packet.bytes)
        return file
      }
    }
  }

  /// Gives the staged sidecars of files that are there their names.
  ///
  /// - Parameters:
  ///   - staged: the results of writing them.
  ///   - files: the paths of files that were written just now.
  func place(
    _ staged: [Result<Descriptor, FileError>], beside files: [AssetID: BytePath],
    in folder: inout ExportFolder, listedIn list: inout ChecksumList?
  ) -> Outcome {
    var outcome = Outcome()
    var replacements: [Replacement] = []
    for (sidecar, result) in zip(sidecars, staged) {
      guard let file = sidecar.file ?? files[sidecar.asset.id] else {
        // The file itself failed, which is told.
        Self.remove(sidecar, in: folder)
        continue
      }
      let path = Self.path(beside: file)
      do throws(FileError) {
        _ = try result.get()
        if let replacement = try place(sidecar, at: path, in: &folder, list, &outcome) {
          replacements.append(replacement)
        }
      } catch {
        Self.remove(sidecar, in: folder)
        outcome.failed.append((sidecar.asset, path, error))
      }
    }
    replace(replacements, in: &folder, listedIn: &list, &outcome)
    return outcome
  }

  /// - Returns: what to replace, if that is needed.
  private func place(
    _ sidecar: Sidecar, at path: BytePath, in folder: inout ExportFolder, _ list: ChecksumList?,
    _ outcome: inout Outcome
  ) throws(FileError) -> Replacement? {
    let packet = sidecar.packet
    do throws(FileError) {
      // None is needed where nothing is known, unless a former one says otherwise.
      if !packet.isEmpty {
        try folder.rename(sidecar.temporary, to: path)
        outcome.there.append((path, packet.digest))
        outcome.count += 1
        return nil
      }
    } catch let error where error.code == .exists {}
    let found = try folder.contents(of: path, atMost: XMPSidecar.mostBytes)
    if found == packet.bytes {
      Self.remove(sidecar, in: folder)
      try folder.flush(path)
      outcome.there.append((path, packet.digest))
      outcome.count += 1
      return nil
    }
    if let found, isKnown(found, at: path, list, outcome) {
      if packet.isAboutSameAsset(as: found) {
        return Replacement(sidecar: sidecar, path: path, former: SHA256.digest(of: found))
      }
      // The first of several assets that share a file has the sidecar.
    } else if !packet.isEmpty {
      throw Self.foreign(folder.root.path.appending(path))
    }
    Self.remove(sidecar, in: folder)
    return nil
  }

  /// Whether a file is a sidecar that this export or an earlier one wrote.
  private func isKnown(
    _ file: [UInt8], at path: BytePath, _ list: ChecksumList?, _ outcome: Outcome
  ) -> Bool {
    let digest = SHA256.digest(of: file)
    let isListed =
      list?.hasRecorded(digest, of: path) == true
      || outcome.there.contains { $0.path == path && $0.digest == digest }
    return isListed && XMPSidecar.isOwn(file)
  }

  private func replace(
    _ replacements: [Replacement], in folder: inout ExportFolder,
    listedIn list: inout ChecksumList?, _ outcome: inout Outcome
  ) {
    guard !replacements.isEmpty else { return }
    func fail(_ replacement: Replacement, _ error: FileError) {
      Self.remove(replacement.sidecar, in: folder)
      // The line of the former one has to count again.
      outcome.there.append((replacement.path, replacement.former))
      outcome.failed.append((replacement.sidecar.asset, replacement.path, error))
    }
    do throws(FileError) {
      // First, so that the next export knows the files whenever this one is killed.
      try list?.append(replacements.map { ($0.path, $0.sidecar.packet.digest) })
    } catch {
      for replacement in replacements { fail(replacement, error) }
      return
    }
    for replacement in replacements {
      do throws(FileError) {
        // Once more, as somebody may have saved it meanwhile.
        let found = try folder.contents(of: replacement.path, atMost: XMPSidecar.mostBytes)
        guard let found, SHA256.digest(of: found) == replacement.former else {
          throw Self.foreign(folder.root.path.appending(replacement.path))
        }
        try folder.replace(replacement.sidecar.temporary, at: replacement.path)
        outcome.count += 1
      } catch {
        fail(replacement, error)
      }
    }
  }

  private static func remove(_ sidecar: Sidecar, in folder: ExportFolder) {
    // Clean-up: the next export removes what remains.
    try? folder.staging.remove(sidecar.temporary)
  }

  private static func foreign(_ path: BytePath) -> FileError {
    FileError(
      .exists,
      "“\(path.printable)” is no sidecar of an earlier export, or was changed since, so it was left "
        + "alone. Move it away and export again.", path: path)
  }
}
