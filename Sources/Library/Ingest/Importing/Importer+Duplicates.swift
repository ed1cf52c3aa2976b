import Catalog
import Configuration
import Files
import Glibc
import Manifest
import Originals
import PipelineModel
import Records

/// Handling of files whose bytes are already stored.
extension Importer {
  /// Follows the source's policy; the file is in `incoming/`, and its source may be gone.
  func resolveDuplicate(_ file: IncomingFile, of asset: AssetID, in group: ImportGroup) throws {
    if try noteRecorded(file, in: group) { return }
    let path = file.attempt.candidate.path
    var asset = asset
    if NameStem.isSidecar(path) {
      // What it says is about the file of its name, and may be the same about several.
      let own = try library.catalog.newestAsset(
        source: source.recorded, path: path, ifItHas: file.digest)
      guard let own else {
        if try noteRename(file, of: asset, in: group) { return }
        try ensureStored(file, in: group)
        return recordAsset(file, in: group)
      }
      asset = own
    }
    if try noteTouch(file, of: asset, in: group) { return }
    if try noteRename(file, of: asset, in: group) { return }
    switch source.duplicates {
    case .discard:
      try ensureStored(file, in: group)
      try note(file, asset, .discarded, "Its bytes are already stored.", in: group)
    case .asset:
      try ensureStored(file, in: group)
      recordAsset(file, in: group)
    case .file:
      try ensureStoredKeepingFile(file)
      try moveToDuplicates(file)
      try note(
        file, asset, .filed, "Its bytes are already stored; it is in duplicates/.", in: group)
    case .keep:
      try keep(file, asset, in: group)
    }
  }

  /// Returns the asset with a file's bytes, or `nil`.
  func knownAsset(of file: IncomingFile, in group: ImportGroup) throws -> AssetID? {
    if let asset = group.assets[file.digest] { return asset }
    return try library.catalog.assets(with: file.digest).first
  }

  /// Reads the stored original; if it is damaged or missing, heals it from a copy of the file in
  /// `incoming/`, which is still needed itself.
  private func ensureStoredKeepingFile(_ file: IncomingFile) throws {
    guard try !isWhole(file.digest) else { return }
    let name = file.attempt.incoming.second
    let source = try Descriptor.open(file.name, in: library.incoming, flags: O_RDONLY | O_NOFOLLOW)
    let copy = try Descriptor.open(
      name, in: library.incoming, flags: O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    guard try copy.fill(from: source) == file.digest else {
      throw FileError(
        .ioError, "“\(copy.path.printable)” can't be written to the disk.", path: copy.path)
    }
    try copy.setPermissions(0o444)
    try copy.sync()
    do {
      try heal(file, with: name)
      if library.originals.leavesFiles { try library.incoming.remove(name) }
    } catch {
      // Clean-up: the file itself is still in `incoming/`.
      try? library.incoming.remove(name)
      throw error
    }
  }

  /// Records the fact and the outcome; restores an asset from the trash.
  private func note(
    _ file: IncomingFile, _ asset: AssetID, _ action: ManifestFact.Duplicate.Action,
    _ reason: String,
    in group: ImportGroup, returned: FileIdentity? = nil, isOwnPath: Bool = false,
    restores: Bool = true
  ) throws {
    let intent = file.attempt.intent(source: source, run: library.run)
    var reason = reason
    if restores, try isInTrash(asset), group.restored.insert(asset).inserted {
      group.facts.append(.restored(asset: asset))
      reason += " Its asset was restored from the trash."
    }
    group.facts.append(
      .duplicate(.init(asset: asset, digest: file.digest, action: action, intent: intent)))
    group.end(
      file, state: .duplicate, asset: asset, reason: reason,
      removesSource: source.moves && action != .kept, returned: returned, isOwnPath: isOwnPath)
  }

  /// Ends a file that was recorded since it was found: another machine did so for a process that was killed before it
  /// heard of that.
  private func noteRecorded(_ file: IncomingFile, in group: ImportGroup) throws -> Bool {
    let candidate = file.attempt.candidate
    guard !candidate.isNamed,
      let now = try library.catalog.sighting(source: source.recorded, path: candidate.path),
      [.imported, .duplicate].contains(now.state), let id = now.asset, now != candidate.known,
      now.identity == file.attempt.status.identity,
      try library.reader.asset(id)?.digest == file.digest
    else { return false }
    try ensureStored(file, in: group)
    let isNew = now.state == .imported
    group.end(
      file, state: now.state, asset: id, reason: now.reason,
      stored: isNew ? file.attempt.status.identity.size : 0,
      removesSource: source.moves && now.awaitsRemoval)
    return true
  }

  private func isInTrash(_ asset: AssetID) throws -> Bool {
    try library.reader.asset(asset)?.state == .trashed
  }

  /// Keeps the file in its folder: puts it back, or drops the copy.
  private func keep(_ file: IncomingFile, _ asset: AssetID, in group: ImportGroup) throws {
    let reason = "Its bytes are already stored; it stays where it is."
    guard file.wasRenamed else {
      try ensureStored(file, in: group)
      return try note(file, asset, .kept, reason, in: group)
    }
    try ensureStoredKeepingFile(file)
    let step: StepResult<IncomingFile> = transfer.putBack(
      file.attempt, state: .duplicate, reason: reason)
    guard case .ended(.duplicate, _) = step else { return end(file.attempt, step, in: group) }
    let identity = try file.attempt.file.status().identity
    try note(file, asset, .kept, reason, in: group, returned: identity)
  }

  /// Moves the file to its own folder in `duplicates/`, with its name, permissions and time.
  private func moveToDuplicates(_ file: IncomingFile) throws {
    let root = library.folder
    if try root.makeFolder("duplicates") { try root.sync() }
    let duplicates = try Descriptor.openFolder("duplicates", in: root, followsLinks: false)
    let folder = BytePath(file.attempt.id.description)
    try duplicates.makeFolder(folder)
    let place = try Descriptor.openFolder(folder, in: duplicates, followsLinks: false)
    let incoming = try Descriptor.open(
      file.name, in: library.incoming, flags: O_RDONLY | O_NOFOLLOW)
    try incoming.setModified(file.attempt.status.identity.modified)
    try incoming.setPermissions(file.attempt.status.permissions)
    try incoming.sync()
    try library.incoming.rename(file.name, to: place, as: file.attempt.name)
    try place.sync()
    try duplicates.sync()
  }

  /// Recognizes a file of a copied source that has another time or inode, but the same bytes.
  ///
  /// - Returns: whether it is one.
  private func noteTouch(
    _ file: IncomingFile, of asset: AssetID, in group: ImportGroup
  ) throws -> Bool {
    let candidate = file.attempt.candidate
    guard !source.moves, candidate.known?.asset == asset, candidate.known?.state == .imported
    else { return false }
    try ensureStored(file, in: group)
    // A file that was only touched must not restore its asset; a named one does.
    try note(
      file, asset, .kept, "Its bytes have not changed.", in: group, isOwnPath: true,
      restores: candidate.isNamed)
    return true
  }

  /// Recognizes a known file of a copied source under a new path, if its old path is gone.
  ///
  /// - Returns: whether it was renamed.
  private func noteRename(
    _ file: IncomingFile, of asset: AssetID, in group: ImportGroup
  ) throws -> Bool {
    guard !source.moves, source.root != BytePath("/") else { return false }
    let path = file.attempt.candidate.path
    // Of sidecars with equal bytes, each is an asset of its own.
    let assets =
      NameStem.isSidecar(path) ? try library.catalog.assets(with: file.digest) : [asset]
    for asset in assets {
      if try noteRename(file, of: asset, to: path, in: group) { return true }
    }
    return false
  }

  private func noteRename(
    _ file: IncomingFile, of asset: AssetID, to path: BytePath, in group: ImportGroup
  ) throws -> Bool {
    let renamed = Set(group.otherSightings.map(\.path))
    let sightings = try library.reader.sightings(of: asset)
    for var old in sightings where old.source == source.recorded && old.identity != nil {
      guard old.path != path, source.isMissing(old.path), !renamed.contains(old.path) else {
        continue
      }
      try ensureStored(file, in: group)
      let now = source.root.appending(path)
      try note(
        file, asset, .kept, "It was renamed from “\(old.path.printable)”.", in: group,
        isOwnPath: true, restores: file.attempt.candidate.isNamed)
      old.state = .gone
      old.reason = "It was renamed to “\(now.printable)”."
      group.otherSightings.append(old)
      renames += 1
      return true
    }
    return false
  }
}
