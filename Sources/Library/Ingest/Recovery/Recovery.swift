import Catalog
import Files
import Glibc
import Manifest
import Originals
import PipelineModel

/// Brings a library to where an undisturbed run would have left it.
///
/// The catalog is a projection of the manifest: facts that it lacks are applied. Incomplete imports
/// and returns are completed or abandoned.
struct Recovery {
  let library: IngestLibrary
  let report: any IngestReport

  func recover() throws {
    if let lag = try library.manifest.lag(behind: library.catalog.manifestPosition) {
      throw IngestError(
        .catalog,
        "\(lag): the manifest was cut or restored from an older backup, or another machine has taken this one's place; "
          + "then do nothing here. Restore the newer manifest, or run `pipeline rebuild-catalog` to follow the older one.",
        path: library.layout.catalog)
    }
    let open = try replay().run()
    var unresolved: Set<BytePath> = []
    var stop: (any Error)?
    var resolved = end(open.imports, unresolved: &unresolved, stop: &stop)
    if stop == nil { resolved += end(open.returns, stop: &stop) }
    if !resolved.isEmpty {
      try library.manifest.append(resolved)
      _ = try replay().run()
    }
    if let stop { throw stop }
    try tidyIncoming(except: unresolved)
  }

  private func replay() -> Replay {
    Replay(catalog: library.catalog, manifest: library.manifest) { _ in report.stillWorking() }
  }

  /// Ends imports; one that can't be ended yet does not hold up the others.
  ///
  /// - Parameters:
  ///   - unresolved: receives the names of those in `incoming/`.
  ///   - stop: receives the error if the program was asked to stop, which skips the rest.
  private func end(
    _ imports: [InterruptedImport], unresolved: inout Set<BytePath>, stop: inout (any Error)?
  ) -> [ManifestFact] {
    let recovery = ImportRecovery(library: library, report: report, intents: imports.map(\.intent))
    var ended: [ManifestFact] = []
    for interrupted in imports {
      do {
        ended.append(try recovery.resolve(interrupted.intent))
      } catch {
        library.hold(position: interrupted.sequence - 1)
        if error.isStopped {
          stop = error
          break
        }
        let names = IncomingNames(taking: interrupted.intent.taking)
        unresolved.formUnion([names.itself, names.copy, names.second])
        report.warning(
          "The import of “\(SourceFile(interrupted.intent).path.printable)” was interrupted and can't "
            + "be completed yet: \(error)")
      }
    }
    return ended
  }

  private func end(_ returns: [InterruptedReturn], stop: inout (any Error)?) -> [ManifestFact] {
    let recovery = ReturnRecovery(
      library: library, sources: LocalSources(library.layout, configured: []), report: report)
    var ended: [ManifestFact] = []
    for open in returns {
      do {
        ended.append(try recovery.resolve(open.back))
      } catch {
        library.hold(position: open.sequence - 1)
        if error.isStopped {
          stop = error
          break
        }
        report.warning(
          "The return of “\(SourceFile(open.back.place).path.printable)” was interrupted and "
            + "can't be completed yet: \(error)")
      }
    }
    return ended
  }

  /// Stores a renamed file of an import unknown to the manifest; a partial copy does not qualify.
  private func adopt(_ file: Descriptor, _ name: BytePath, _ digest: Digest) throws -> Bool {
    guard let text = name.utf8, AssetID(text) != nil, !library.hasInterruptedWork,
      file.acquireLease() != .refused
    else { return false }
    defer { file.releaseLease() }
    try file.setPermissions(IncomingTransfer.flushedPermissions)
    try file.sync()
    let item = IncomingOriginal(folder: library.incoming, name: name, digest: digest)
    guard try library.originals.put(item) else { return false }
    try Adoption(library: library).record(digest)
    if library.originals.leavesFiles { try library.incoming.remove(name) }
    report.warning(
      "“\(file.path.printable)” belongs to no import in the manifest. It was stored, with its "
        + "digest \(digest) as its name.")
    return true
  }

  /// Removes files from `incoming/` that are also stored; warns of any other.
  private func tidyIncoming(except unresolved: Set<BytePath>) throws {
    for entry in try library.incoming.entries() {
      if unresolved.contains(entry.name) { continue }
      let path = library.incoming.path.appending(entry.name)
      do {
        if try !tidy(entry.name) {
          report.warning("“\(path.printable)” belongs to no import in progress; it is left alone.")
        }
      } catch {
        if error.isStopped { throw error }
        report.warning("“\(path.printable)” is left alone: \(error)")
      }
    }
  }

  /// Removes a file in `incoming/` if its bytes are stored, or it is empty. A file of an import
  /// unknown to the manifest, as in a restored library, is stored under its digest.
  ///
  /// - Returns: whether it is gone.
  private func tidy(_ name: BytePath) throws -> Bool {
    if OriginalsMove.isCopy(name) {
      try library.incoming.remove(name)
      return true
    }
    let file = try Descriptor.open(
      name, in: library.incoming, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    let status = try file.status()
    guard status.kind == .regular else { return false }
    if status.identity.size > 0 {
      let digest = try library.digest(of: file)
      let isStored = try library.catalog.hasOriginal(digest)
      guard isStored, case .whole = try library.condition(of: digest) else {
        return try !isStored && adopt(file, name, digest)
      }
    }
    try library.incoming.remove(name)
    return true
  }
}

/// The place a file was imported from, in its current state.
struct SourceFile {
  private let intent: ManifestFact.Intent

  init(_ intent: ManifestFact.Intent) { self.intent = intent }

  /// Its path, for messages.
  var path: BytePath { intent.source.appending(intent.path) }

  /// Opens its folder part by part: the whole path may exceed the kernel's limit.
  func openFolder() throws(FileError) -> Descriptor {
    try Descriptor.openFolder(intent.source).openParent(of: intent.path)
  }

  /// The regular file that is there now; `nil` if there is none, or it can't be read.
  func open() -> Descriptor? {
    do throws(FileError) {
      let file = try Descriptor.open(
        intent.path.lastComponent, in: openFolder(), flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      return try file.status().kind == .regular ? file : nil
    } catch {
      // A file that can't be seen counts as lost, so that nothing that may be its copy is removed.
      return nil
    }
  }

  /// The file that is there now, if its size and time are unchanged.
  func openUnchanged() throws(FileError) -> Descriptor? {
    guard let file = open() else { return nil }
    let identity = try file.status().identity
    let isSame =
      identity.size == intent.identity.size && identity.modified == intent.identity.modified
    return isSame ? file : nil
  }

  /// Whether the file that is there now contains all bytes of a file in `incoming/`.
  ///
  /// The bytes are compared, unless it is the very file that the import began with: inode numbers
  /// mean nothing once a library or source was restored.
  func holdsAllBytes(
    of part: Descriptor, isStopped: @escaping () -> Bool
  ) throws(FileError) -> Bool {
    guard let file = open() else { return false }
    let status = try file.status()
    if status.identity == intent.identity { return true }
    guard try file.begins(with: part, isStopped: isStopped) else { return false }
    // It may have been put back just now, and the other copy is removed because of it.
    try file.sync()
    return true
  }
}
