import Catalog
import Files
import Glibc
import Manifest
import Originals
import PipelineModel

/// Ends interrupted imports, judging by what exists.
///
/// A file's name in `incoming/` says what it is. Nothing is removed from there unless all of its
/// bytes were seen elsewhere; doubtful files are stored, or set aside and reported.
final class ImportRecovery {
  private let library: IngestLibrary
  private let report: any IngestReport
  private let unrecorded: UnrecordedOriginals
  /// Assets made by this recovery. The catalog gets them once all imports are ended.
  private var assets: [Digest: AssetID] = [:]
  /// Sizes of earlier files still in their folders, to be imported by the next scan.
  private var waiting: Set<Int> = []

  /// - Parameter intents: all open imports.
  init(library: IngestLibrary, report: any IngestReport, intents: [ManifestFact.Intent]) {
    self.library = library
    self.report = report
    unrecorded = UnrecordedOriginals(library, intents: intents)
  }

  /// Finds out how far an import came, and ends it.
  ///
  /// - Returns: the fact that ends it.
  func resolve(_ intent: ManifestFact.Intent) throws -> ManifestFact {
    let fact = try end(intent)
    if case .stored(let stored) = fact { assets[stored.digest] = stored.asset }
    if case .abandoned = fact { waiting.insert(intent.identity.size) }
    return fact
  }

  private func end(_ intent: ManifestFact.Intent) throws -> ManifestFact {
    let names = IncomingNames(taking: intent.taking)
    let itself = try openIncoming(names.itself)
    let copy = try openIncoming(names.copy)
    if let second = try openIncoming(names.second) {
      try resolveSecondCopy(second, names.second, in: itself ?? copy)
    }
    if let itself { return try resume(itself, names.itself, intent) }
    if let copy { return try resume(copyOf: intent, copy, names.copy) }
    if let filed = try filedDuplicate(of: intent) {
      return try closingFact(of: intent, digest: filed, duplicate: .filed)
    }
    let source = try SourceFile(intent).openUnchanged()
    if let found = try unrecorded.claim(for: intent, source: source, except: assets) {
      return try closingFact(of: intent, digest: found, duplicate: .kept)
    }
    return .abandoned(taking: intent.taking, reason: "The program ended before it was imported.")
  }

  private func openIncoming(_ name: BytePath) throws(FileError) -> Descriptor? {
    try ifThere { () throws(FileError) in
      let file = try Descriptor.open(
        name, in: library.incoming, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      guard try file.status().kind == .regular else {
        throw FileError(
          .notRegular, "“\(file.path.printable)” is not a regular file.", path: file.path)
      }
      return file
    }
  }

  // MARK: The file itself

  /// Ends the import of a file renamed into `incoming/`, which may have the only copy.
  private func resume(
    _ file: Descriptor, _ name: BytePath, _ intent: ManifestFact.Intent
  ) throws -> ManifestFact {
    if try SourceFile(intent).holdsAllBytes(of: file, isStopped: library.isStopped) {
      try library.incoming.remove(name)
      return .abandoned(
        taking: intent.taking, reason: "The program ended while it was being imported.")
    }
    guard file.acquireLease() != .refused else {
      throw FileError(.busy, "“\(file.path.printable)” is open for writing.", path: file.path)
    }
    defer { file.releaseLease() }
    let status = try file.status()
    let isUnchanged =
      status.identity.size == intent.identity.size
      && status.identity.modified == intent.identity.modified
    try file.seek(to: 0)
    let digest = try library.digest(of: file)
    guard try file.status().identity == status.identity else {
      throw FileError(
        .changed, "“\(file.path.printable)” changed while it was read.", path: file.path)
    }
    if !isUnchanged {
      return try putBackOrStore(
        file, name, intent, digest, reason: "It changed while it was being imported.")
    }
    // Files of a group are renamed concurrently. An earlier one with the same bytes would otherwise
    // become the duplicate of this one. And a duplicate is for the source's policy to decide, at
    // the next scan.
    if try waiting.contains(intent.identity.size) || asset(of: digest) != nil {
      return try putBackOrStore(
        file, name, intent, digest, reason: "The program ended before it was imported.")
    }
    try store(file, name, digest)
    return try closingFact(of: intent, digest: digest, duplicate: .discarded)
  }

  /// Puts a file back into its folder or, if that is no longer possible, stores it.
  private func putBackOrStore(
    _ file: Descriptor, _ name: BytePath, _ intent: ManifestFact.Intent, _ digest: Digest,
    reason: String
  ) throws -> ManifestFact {
    let place = SourceFile(intent)
    do throws(FileError) {
      let free = try RenameBack(incoming: library.incoming).run(
        name, to: place.openFolder(), as: intent.path.lastComponent,
        restoring: .init(
          permissions: intent.permissions, modified: file.status().identity.modified))
      if free != intent.path.lastComponent {
        report.warning(
          "“\(place.path.printable)” was put back as “\(free.printable)”, because its name is "
            + "taken.")
      }
      return .abandoned(taking: intent.taking, reason: reason)
    } catch {
      // The disk or the system refused for now: the next start tries again.
      if [.ioError, .noSpace, .busy, .tooManyOpen].contains(error.code) { throw error }
      report.warning(
        "The import of “\(place.path.printable)” was interrupted. The file can't be put back, so "
          + "it was stored: \(error.message)")
    }
    var taken = intent
    taken.identity = try file.status().identity
    try store(file, name, digest)
    return try closingFact(of: taken, digest: digest, duplicate: .discarded)
  }

  // MARK: A copy

  /// Ends the import of a file that was being copied.
  private func resume(
    copyOf intent: ManifestFact.Intent, _ copy: Descriptor, _ name: BytePath
  ) throws -> ManifestFact {
    let status = try copy.status()
    let place = SourceFile(intent)
    if try status.identity.size == 0
      || place.holdsAllBytes(of: copy, isStopped: library.isStopped)
    {
      try library.incoming.remove(name)
      return .abandoned(
        taking: intent.taking, reason: "The program ended while it was being copied.")
    }
    guard status.identity.size == intent.identity.size,
      status.permissions == IncomingTransfer.flushedPermissions
    else {
      try keepApart(name, of: intent)
      return .abandoned(
        taking: intent.taking, reason: "The program ended with only a part of it copied.")
    }
    try copy.seek(to: 0)
    let digest = try library.digest(of: copy)
    try store(copy, name, digest)
    // Its source can't be seen now, or is another file: its disk may be away.
    return try closingFact(of: intent, digest: digest, duplicate: .kept)
  }

  /// Removes a second copy whose bytes the first one has, and sets any other aside.
  private func resolveSecondCopy(_ second: Descriptor, _ name: BytePath, in first: Descriptor?)
    throws
  {
    let isInFirst = try first?.begins(with: second, isStopped: library.isStopped) == true
    if try isInFirst || second.status().identity.size == 0 {
      return try library.incoming.remove(name)
    }
    try second.seek(to: 0)
    let digest = try library.digest(of: second)
    if try asset(of: digest) != nil, case .whole = try library.condition(of: digest) {
      return try library.incoming.remove(name)
    }
    try keepApart(name, of: nil)
  }

  /// Moves a partial copy whose source can't be seen to `damaged/`, where nothing removes it.
  private func keepApart(_ name: BytePath, of intent: ManifestFact.Intent?) throws {
    let root = library.folder
    let folder = library.layout.damaged.lastComponent
    if try root.makeFolder(folder) { try root.sync() }
    let damaged = try Descriptor.openFolder(folder, in: root, followsLinks: false)
    try library.incoming.rename(name, to: damaged, as: name)
    try damaged.sync()
    try library.incoming.sync()
    let what = intent.map { "“\(SourceFile($0).path.printable)”" } ?? "a file"
    report.warning(
      "The program ended while \(what) was being copied, and the file is no longer there "
        + "unchanged. The copied part is kept as “\(damaged.path.appending(name).printable)”.")
  }

  // MARK: Storing

  /// Makes a file in `incoming/` an original.
  private func store(_ file: Descriptor, _ name: BytePath, _ digest: Digest) throws {
    try file.setPermissions(IncomingTransfer.flushedPermissions)
    try file.sync()
    let item = IncomingOriginal(folder: library.incoming, name: name, digest: digest)
    if try library.originals.put(item) { return }
    switch try library.condition(of: digest) {
    // The file goes once the import is recorded: after another kill it says whose bytes they are.
    case .whole: return
    case .missing, .damaged, .unreadable: try library.heal(item)
    }
  }

  /// The asset that an import's bytes belong to; of a sidecar only the newest with its name, because what
  /// it says is about the file of that name.
  private func asset(of digest: Digest, for intent: ManifestFact.Intent) throws -> AssetID? {
    guard NameStem.isSidecar(intent.path) else { return try asset(of: digest) }
    return try library.catalog.newestAsset(
      source: intent.source, path: intent.path, ifItHas: digest)
  }

  private func asset(of digest: Digest) throws -> AssetID? {
    if let asset = assets[digest] { return asset }
    return try library.catalog.assets(with: digest).first
  }

  /// The fact that ends an import whose bytes are stored.
  private func closingFact(
    of intent: ManifestFact.Intent, digest: Digest,
    duplicate action: ManifestFact.Duplicate.Action
  ) throws -> ManifestFact {
    if let asset = try asset(of: digest, for: intent) {
      return .duplicate(.init(asset: asset, digest: digest, action: action, intent: intent))
    }
    return .stored(
      .init(asset: library.ids.next(), digest: digest, intent: intent, supersedes: nil))
  }

  private func filedDuplicate(of intent: ManifestFact.Intent) throws -> Digest? {
    let place = library.layout.duplicates.appending(intent.taking.description)
    return try ifThere { () throws(FileError) in
      let file = try Descriptor.open(
        place.appending(intent.path.lastComponent), flags: O_RDONLY | O_NOFOLLOW)
      return try library.digest(of: file)
    }
  }
}
