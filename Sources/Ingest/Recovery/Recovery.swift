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
    let open = try replay().run()
    var resolved: [ManifestFact] = []
    // The catalog hears of these assets only once all takings are ended.
    var assets: [Digest: AssetID] = [:]
    var unresolved: Set<BytePath> = []
    // Sizes of earlier files that are in their folders, to be taken by the next scan.
    var waiting: Set<Int> = []
    let nodes = OriginalNodes(library.originals)
    for taking in open.takings {
      let intent = taking.intent
      do throws(IngestError) {
        let fact = try resolve(intent, known: assets, waiting: waiting, nodes: nodes)
        if case .stored(let stored) = fact { assets[stored.digest] = stored.asset }
        if case .abandoned = fact { waiting.insert(intent.identity.size) }
        resolved.append(fact)
      } catch {
        // One file that can't be read must not keep the others waiting.
        library.hold(position: taking.sequence - 1)
        unresolved.insert(BytePath(intent.taking.description))
        report.warning(
          "“\(intent.source.appending(intent.path).printable)” was being taken when the program "
            + "ended, and can't be dealt with yet: \(error.message)")
      }
    }
    let returns = ReturnRecovery(library: library)
    for open in open.returns {
      do throws(IngestError) {
        resolved.append(try returns.resolve(open.back))
      } catch {
        library.hold(position: open.sequence - 1)
        let path = open.back.place.source.appending(open.back.place.path)
        report.warning(
          "“\(path.printable)” was being given back when the program ended, and can't be dealt "
            + "with yet: \(error.message)")
      }
    }
    if !resolved.isEmpty {
      try translating { try library.manifest.append(resolved) }
      _ = try replay().run()
    }
    try tidyIncoming(except: unresolved)
  }

  private func replay() -> Replay {
    Replay(catalog: library.catalog, manifest: library.manifest) { _ in report.goesOn() }
  }

  /// Finds out how far a taking came, and ends it.
  ///
  /// - Parameters:
  ///   - known: assets that this recovery has made so far.
  ///   - waiting: sizes of files that were to be taken before, and were not.
  private func resolve(
    _ intent: ManifestFact.Intent, known: [Digest: AssetID], waiting: Set<Int>,
    nodes: OriginalNodes
  ) throws(IngestError) -> ManifestFact {
    try translating {
      let name = BytePath(intent.taking.description)
      if let file = try openIncoming(name) {
        return try resume(file, name, intent, known: known, waiting: waiting)
      }
      if let found = try storedOriginal(of: intent, nodes: nodes) {
        return try ending(of: intent, digest: found, known: known, duplicate: .discarded)
      }
      if let filed = try filedDuplicate(of: intent) {
        return try ending(of: intent, digest: filed, known: known, duplicate: .filed)
      }
      return .abandoned(taking: intent.taking, reason: "The program ended before it was taken.")
    }
  }

  /// A file in `incoming/`: the source itself, renamed, or a copy of it.
  private func resume(
    _ file: Descriptor, _ name: BytePath, _ intent: ManifestFact.Intent,
    known: [Digest: AssetID], waiting: Set<Int>
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
      if waiting.contains(intent.identity.size) {
        // Files of a group are renamed side by side. One with the same bytes that was to be
        // taken first would else become the duplicate of this one.
        return try giveBack(file, name, intent, reason: "The program ended before it was taken.")
      }
    } else if status.identity.size != intent.identity.size
      || status.permissions != Landing.flushedPermissions
    {
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
      case .missing, .damaged, .unreadable: try library.originals.heal(item)
      }
    }
    // A copy whose source can't be seen now: it may be on a disk that is away.
    return try ending(
      of: intent, digest: digest, known: known, duplicate: isSourceItself ? .discarded : .kept)
  }

  private func asset(of digest: Digest, known: [Digest: AssetID]) throws -> AssetID? {
    if let asset = known[digest] { return asset }
    return try library.catalog.assets(with: digest).first
  }

  /// The fact that ends a taking whose bytes are stored.
  private func ending(
    of intent: ManifestFact.Intent, digest: Digest, known: [Digest: AssetID],
    duplicate action: ManifestFact.Duplicate.Action
  ) throws -> ManifestFact {
    if let asset = try asset(of: digest, known: known) {
      return .duplicate(
        .init(asset: asset, digest: digest, action: action, intent: intent))
    }
    return .stored(
      .init(asset: library.ids.next(), digest: digest, intent: intent, supersedes: nil))
  }

  private func giveBack(
    _ file: Descriptor, _ name: BytePath, _ intent: ManifestFact.Intent, reason: String
  ) throws -> ManifestFact {
    let path = intent.source.appending(intent.path)
    let folder = try Descriptor.openFolder(path.parent)
    let free = try GiveBack(incoming: library.incoming).run(
      name, to: folder, as: path.lastComponent,
      restoring: .init(permissions: intent.permissions, modified: file.status().identity.modified))
    if free != path.lastComponent {
      report.warning(
        "“\(path.printable)” was put back as “\(free.printable)”, because its name is taken.")
    }
    return .abandoned(taking: intent.taking, reason: reason)
  }

  /// An original that was renamed into place before the kill: it is the source's inode.
  private func storedOriginal(
    of intent: ManifestFact.Intent, nodes: OriginalNodes
  ) throws -> Digest? {
    if sourceIsThere(intent) { return nil }
    guard let found = try nodes.original(of: intent.identity),
      case .whole = try library.originals.verify(found)
    else { return nil }
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
      return try Descriptor.open(
        name, in: library.incoming, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
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
  private func tidyIncoming(except unresolved: Set<BytePath>) throws(IngestError) {
    for entry in try translating({ try library.incoming.entries() }) {
      if unresolved.contains(entry.name) { continue }
      let path = library.incoming.path.appending(entry.name)
      do throws(IngestError) {
        if try !tidy(entry.name) {
          report.warning(
            "“\(path.printable)” belongs to no taking that is under way; it is left alone.")
        }
      } catch {
        report.warning("“\(path.printable)” is left alone: \(error.message)")
      }
    }
  }

  /// Removes one file of `incoming/` if its bytes are stored.
  ///
  /// - Returns: whether it is gone.
  private func tidy(_ name: BytePath) throws(IngestError) -> Bool {
    try translating {
      // The second copy of a file that is there under its own name.
      let isSecondCopy = name.bytes.suffix(5).elementsEqual(".copy".utf8)
      if !isSecondCopy {
        guard let file = try openIncoming(name), try file.status().kind == .regular else {
          return false
        }
        let digest = try file.hash().digest
        guard try !library.catalog.assets(with: digest).isEmpty,
          case .whole = try library.originals.verify(digest)
        else { return false }
      }
      try library.incoming.remove(name)
      return true
    }
  }
}
