import Files
import Originals
import PipelineModel

/// A store that breaks one promise, to show that the checks notice.
struct WrongStore: OriginalStore {
  enum Fault: CaseIterable {
    case saysStored, replacesPresent, removesPresent, believesNames, missesNothing, healsOver
    case forgetsToHeal, keepsRemoved, hidesForeign, givesTwice, failsOnSecondRemove
    case removesDamaged, keepsReleased, releasesOver, missesUnreadable, endsAtUnreadable
    case hidesUnreadable, givesNoSize, givesWrongSize, sizesObstacles
    case knowsNoFile
  }

  private let store: FolderStore
  private let fault: Fault

  init(_ store: FolderStore, fault: Fault) {
    self.store = store
    self.fault = fault
  }

  var releases: Bool { store.releases }

  var leavesFiles: Bool { store.leavesFiles }
  var readsAtOnce: Int { store.readsAtOnce }
  func flushAll() throws(FileError) { try store.flushAll() }

  func copy(
    _ digest: Digest, to file: Descriptor, isStopped: @escaping @Sendable () -> Bool
  ) throws(FileError) -> Digest {
    try store.copy(digest, to: file, isStopped: isStopped)
  }

  func makeRoom(_ bytes: Int) {}
  func keepCopies(of files: [IncomingOriginal]) {}

  func restore(_ digest: Digest) -> Bool { store.restore(digest) }

  func check() throws(FileError) { try store.check() }

  func open(_ digest: Digest) throws(FileError) -> Descriptor { try store.open(digest) }

  func ownFile(of digest: Digest) throws(FileError) -> Descriptor? { try store.ownFile(of: digest) }

  func isOriginal(_ file: FileStatus, _ digest: Digest) throws(FileError) -> Bool {
    fault == .knowsNoFile ? false : try store.isOriginal(file, digest)
  }

  func path(of digest: Digest) -> BytePath { store.path(of: digest) }

  var damagedPlace: BytePath { store.damagedPlace }

  func removeRemnants() throws(FileError) -> Int { store.removeRemnants() }

  func put(_ files: [IncomingOriginal]) throws(FileError) -> [PutOutcome] {
    if fault == .replacesPresent {
      for file in files { try store.remove(file.digest) }
    }
    let outcomes = try store.put(files)
    if fault == .removesPresent {
      for (file, outcome) in zip(files, outcomes) where outcome == .present {
        try file.folder.remove(file.name)
      }
    }
    switch fault {
    case .saysStored: return outcomes.map { _ in .stored }
    default: return outcomes
    }
  }

  func lease(_ digest: Digest) throws(FileError) -> LocalOriginal {
    do throws(FileError) {
      return try store.lease(digest)
    } catch {
      guard fault == .missesNothing else { throw error }
      return LocalOriginal(path: "/dev/null")
    }
  }

  func size(of digest: Digest) throws(FileError) -> Int? {
    do throws(FileError) {
      let size = try store.size(of: digest)
      return fault == .givesNoSize ? nil : fault == .givesWrongSize ? size.map { $0 + 1 } : size
    } catch {
      guard fault == .sizesObstacles else { throw error }
      return nil
    }
  }

  func verify(_ digest: Digest, isStopped: @escaping () -> Bool) throws(FileError)
    -> OriginalCondition
  {
    let condition = try store.verify(digest)
    if fault == .missesUnreadable, case .unreadable = condition { return .missing }
    if fault == .believesNames, case .damaged(_, let size) = condition {
      return .whole(size: size)
    }
    return condition
  }

  func heal(_ file: IncomingOriginal) throws(FileError) {
    switch fault {
    case .healsOver:
      try store.remove(file.digest)
      _ = try store.put([file])
    case .forgetsToHeal: try file.folder.remove(file.name)
    default: try store.heal(file)
    }
  }

  func setAside(_ digest: Digest) throws(FileError) -> Bool {
    if fault == .removesDamaged {
      try store.remove(digest)
      return true
    }
    return try store.setAside(digest)
  }

  func release(_ digest: Digest, to folder: Descriptor, as name: BytePath) throws(FileError) {
    if fault == .keepsReleased { return }
    if fault == .releasesOver {
      do throws(FileError) {
        try folder.remove(name)
      } catch {
        // Nothing was there.
      }
    }
    try store.release(digest, to: folder, as: name)
  }

  func remove(_ digest: Digest, onLoss: (() -> Void)?) throws(FileError) {
    if fault == .keepsRemoved { return }
    if fault == .failsOnSecondRemove { _ = try store.lease(digest) }
    try store.remove(digest, onLoss: onLoss)
  }

  func forEach(
    beginningWith byte: UInt8, _ body: (StoredEntry) throws(FileError) -> Void
  ) throws(FileError) {
    try store.forEach(beginningWith: byte) { entry throws(FileError) in
      if case .unreadable(let error) = entry {
        if fault == .endsAtUnreadable { throw error }
        if fault == .hidesUnreadable { return }
      }
      try body(entry)
      if fault == .givesTwice { try body(entry) }
    }
  }

  func forEachForeign(_ body: (StoredEntry) throws(FileError) -> Void) throws(FileError) {
    if fault == .hidesForeign { return }
    try store.forEachForeign(body)
  }
}
