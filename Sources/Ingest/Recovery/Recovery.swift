import Catalog
import Files
import Glibc
import Manifest
import Originals
import PipelineModel

/// Brings a library to where an undisturbed run would have left it.
///
/// The catalog is a projection of the manifest: facts that it lacks are
/// applied. Takings whose end is missing are resumed where the bytes are in the
/// library's hands alone, and abandoned where the source still has them.
struct Recovery {
  let library: IngestLibrary
  let report: any IngestReport

  func recover() throws(IngestError) {
    let position = try translating { try library.catalog.manifestPosition }
    guard position <= library.manifest.lastSequence else {
      throw IngestError(
        .catalog,
        "The catalog knows \(position) facts, the manifest only \(library.manifest.lastSequence): "
          + "the manifest was cut or restored from an older backup. Restore the newer manifest, "
          + "or run `pipeline rebuild-catalog` to go by the older one.",
        path: library.layout.catalog)
    }
    let open = try Replay(catalog: library.catalog, manifest: library.manifest).run()
    var resolved: [ManifestFact] = []
    // The catalog hears of these assets only once all takings are ended.
    var assets: [Digest: AssetID] = [:]
    for intent in open {
      let fact = try resolve(intent, known: assets)
      if case .stored(let stored) = fact { assets[stored.digest] = stored.asset }
      resolved.append(fact)
    }
    if !resolved.isEmpty {
      try translating { try library.manifest.append(resolved) }
      _ = try Replay(catalog: library.catalog, manifest: library.manifest).run()
    }
    try tidyIncoming()
  }

  /// Finds out how far a taking came, and ends it.
  ///
  /// - Parameter known: assets that this recovery has made so far.
  private func resolve(
    _ intent: ManifestFact.Intent, known: [Digest: AssetID]
  ) throws(IngestError) -> ManifestFact {
    try translating {
      let name = BytePath(intent.taking.description)
      if let file = try openIncoming(name) {
        return try resume(file, name, intent, known: known)
      }
      if let found = try storedOriginal(of: intent) {
        return try ending(of: intent, digest: found, known: known)
      }
      if let filed = try filedDuplicate(of: intent) {
        return try ending(of: intent, digest: filed, known: known)
      }
      return .abandoned(taking: intent.taking, reason: "The program ended before it was taken.")
    }
  }

  /// A file in `incoming/`: the source itself, renamed, or a copy of it.
  private func resume(
    _ file: Descriptor, _ name: BytePath, _ intent: ManifestFact.Intent,
    known: [Digest: AssetID]
  ) throws -> ManifestFact {
    if sourceIsThere(intent) {
      try library.incoming.remove(name)
      return .abandoned(taking: intent.taking, reason: "The program ended while it was copied.")
    }
    // From here on, `incoming/` may have the only copy.
    let status = try file.status()
    let isSourceItself = status.identity.inode == intent.identity.inode
    if isSourceItself {
      if !status.identity.isSameFile(as: intent.identity) {
        return try giveBack(file, name, intent, reason: "It was changed while it was taken.")
      }
    } else if status.identity.size != intent.identity.size {
      try library.incoming.remove(name)
      return .abandoned(
        taking: intent.taking, reason: "The program ended while a part of it was copied.")
    }
    let (digest, _) = try file.hash()
    if isSourceItself, try asset(of: digest, known: known) != nil {
      // What becomes of a duplicate is for its source's policy to say: at the next scan.
      return try giveBack(file, name, intent, reason: "The program ended before it was taken.")
    }
    try file.setPermissions(0o444)
    try file.sync()
    let item = IncomingOriginal(folder: library.incoming, name: name, digest: digest)
    if try library.originals.put([item]) == [.present] {
      switch try library.originals.verify(digest) {
      case .whole: try library.incoming.remove(name)
      case .missing, .damaged: try library.originals.heal(item)
      }
    }
    return try ending(of: intent, digest: digest, known: known)
  }

  private func asset(of digest: Digest, known: [Digest: AssetID]) throws -> AssetID? {
    if let asset = known[digest] { return asset }
    return try library.catalog.assets(with: digest).first
  }

  /// The fact that ends a taking whose bytes are stored.
  private func ending(
    of intent: ManifestFact.Intent, digest: Digest, known: [Digest: AssetID]
  ) throws -> ManifestFact {
    if let asset = try asset(of: digest, known: known) {
      return .duplicate(
        .init(asset: asset, digest: digest, action: .discarded, intent: intent))
    }
    return .stored(
      .init(asset: library.ids.next(), digest: digest, intent: intent, supersedes: nil))
  }

  private func giveBack(
    _ file: Descriptor, _ name: BytePath, _ intent: ManifestFact.Intent, reason: String
  ) throws -> ManifestFact {
    let path = intent.source.appending(intent.path)
    do throws(FileError) {
      let folder = try Descriptor.openFolder(path.parent)
      try file.setPermissions(intent.permissions)
      try library.incoming.rename(name, to: folder, as: path.lastComponent)
    } catch {
      report.warning(
        "“\(path.printable)” can't be put back; it is kept as "
          + "“\(library.incoming.path.appending(name).printable)”: \(error.message)")
    }
    return .abandoned(taking: intent.taking, reason: reason)
  }

  /// An original that was renamed into place before the kill: it has the source's inode.
  private func storedOriginal(of intent: ManifestFact.Intent) throws -> Digest? {
    if sourceIsThere(intent) { return nil }
    var found: Digest?
    try library.originals.forEach { entry throws(FileError) in
      if case .original(let digest, let status) = entry,
        status.identity.isSameFile(as: intent.identity)
      {
        found = digest
      }
    }
    guard let found, case .whole = try library.originals.verify(found) else { return nil }
    return found
  }

  private func filedDuplicate(of intent: ManifestFact.Intent) throws -> Digest? {
    let place = library.layout.duplicates.appending(intent.taking.description)
    do throws(FileError) {
      let file = try Descriptor.open(
        place.appending(intent.path.lastComponent), flags: O_RDONLY | O_NOFOLLOW)
      return try file.hash().digest
    } catch let error where error.code == .notFound {
      return nil
    }
  }

  private func openIncoming(_ name: BytePath) throws(FileError) -> Descriptor? {
    do throws(FileError) {
      return try Descriptor.open(name, in: library.incoming, flags: O_RDONLY | O_NOFOLLOW)
    } catch let error where error.code == .notFound {
      return nil
    }
  }

  /// Whether the source is still what the taking set out to take.
  private func sourceIsThere(_ intent: ManifestFact.Intent) -> Bool {
    let path = intent.source.appending(intent.path)
    do throws(FileError) {
      let status = try Descriptor.openFolder(path.parent).status(of: path.lastComponent)
      return status.identity.isSameFile(as: intent.identity)
    } catch {
      return false
    }
  }

  /// Removes what is in `incoming/` and stored as well; anything else stays, with a word.
  private func tidyIncoming() throws(IngestError) {
    try translating {
      for entry in try library.incoming.entries() {
        if entry.name.bytes.suffix(5).elementsEqual(".copy".utf8) {
          // The second copy of a file that is there under its own name.
          try library.incoming.remove(entry.name)
          continue
        }
        guard let file = try openIncoming(entry.name), try file.status().kind == .regular else {
          continue
        }
        let (digest, _) = try file.hash()
        let isRecorded = try !library.catalog.assets(with: digest).isEmpty
        if isRecorded, case .whole = try library.originals.verify(digest) {
          try library.incoming.remove(entry.name)
        } else {
          report.warning(
            "“\(library.incoming.path.appending(entry.name).printable)” belongs to no taking that "
              + "is under way; it is left alone.")
        }
      }
    }
  }
}
