package import Catalog
package import Configuration
package import Files
import Glibc
import Manifest
import PipelineModel
import Records
import Renditions

/// A library that this machine imports into and works for, while another one has its folder and writes its manifest.
package final class JoinedLibrary: ImportingLibrary {
  /// Its locks are held for as long.
  package let workplace: Workplace
  private let lock: FileLock?
  private let sources: LocalSources
  private let remote: RemoteRecords
  private let journal: ReturnJournal
  /// When returns are looked at again that could not be completed, and which of them were told.
  private var nextTry = ContinuousClock.now
  private var warned: Set<AssetID> = []
  private static let pause = Duration.seconds(60)

  /// - Parameters:
  ///   - layout: with the name of this machine, by which its sources are recorded.
  ///   - lock: of whoever takes files with the workplace's folder; `nil` for what is named by a user.
  ///   - sources: the configured ones.
  ///   - ask: hands facts over to the process with the manifest, and waits until they are recorded.
  package init(
    _ workplace: Workplace, lock: FileLock?, layout: LibraryLayout, sources: [SourceConfiguration],
    catalog: Catalog, reserve: Int, report: any IngestReport,
    isStopped: @escaping @Sendable () -> Bool,
    ask: @escaping (RemoteImport) throws -> RemoteImport.Outcome
  ) throws {
    self.workplace = workplace
    self.lock = lock
    self.sources = LocalSources(layout, configured: sources)
    journal = try ReturnJournal(in: Descriptor.openFolder(layout.root), isOwn: lock != nil)
    remote = RemoteRecords(
      catalog: catalog, machine: layout.machine ?? "", journal: journal, ask: ask)
    super.init(
      layout: layout, folder: workplace.folder,
      incoming: try Self.openIncoming(in: workplace.folder),
      originals: workplace.originals, records: remote, catalog: catalog,
      reader: try CatalogReader.open(at: layout.catalogPlace, immutable: false),
      ids: AssetIDGenerator(after: try catalog.newestAssetID()) {
        UInt64(Timestamp.now.microseconds / 1000)
      }, reserve: reserve, mounts: MountTable(), report: report,
      isStopped: isStopped)
  }

  override func endReturns(
    to isReachable: (BytePath) -> Bool, _ report: any IngestReport
  ) throws {
    guard !journal.pending.isEmpty, ContinuousClock.now >= nextTry else { return }
    let recovery = ReturnRecovery(library: self, sources: sources, report: report)
    for back in journal.pending where isReachable(back.place.source) && isThere(back.place) {
      do {
        if case .returned(var ended) = try recovery.resolve(back) {
          // That of an attempt under a wrong clock may be refused.
          ended.place.taking = ids.next()
          try remote.complete(ended)
        }
        try journal.end { $0 == back }
      } catch {
        if error.isStopped { break }
        // Without somebody who records, nothing can be taken either.
        guard try remote.isAvailable() else { throw error }
        nextTry = ContinuousClock.now + Self.pause
        guard warned.insert(back.place.taking).inserted else { continue }
        let path = sources.path(of: back.place.source)?.appending(back.place.path)
        report.warning(
          "The return of “\((path ?? back.place.path).printable)” was interrupted, and can't be completed yet, so the file "
            + "is left alone: \(error)")
      }
    }
    hasReturned = true
  }

  /// Whether the disk may be there that a file goes back to: for what was named to `import`, its folder is.
  private func isThere(_ place: ManifestFact.Intent) -> Bool {
    guard let source = sources.path(of: place.source), source == "/" else { return true }
    return (try? Descriptor.openFolder(source.appending(place.path).parent)) != nil
  }

  override func isBeingReturned(_ path: BytePath, to source: BytePath) -> Bool {
    journal.pending.contains { $0.place.path == path && $0.place.source == source }
  }

  /// The setting with the last run in which a machine imported something.
  package static func lastRun(of machine: String) -> String { "run.imported.\(machine)" }

  package override func openControlFolder() throws(FileError) -> Descriptor {
    // Others look for the process that takes files, and not for one that imports what is named.
    if lock == nil { return folder }
    return try Descriptor.openFolder(layout.root)
  }

  /// Has no other machine take files under this one's name, with which their recorded paths begin.
  ///
  /// - Throws: `IngestError` of code `locked` if one does for longer than `wait`.
  package func holdName(wait: Duration) throws {
    let deadline = ContinuousClock.now + wait
    while try isNameTaken() {
      guard ContinuousClock.now < deadline, !isStopped() else {
        throw IngestError(
          .locked,
          "Another machine, or another folder of this one, takes files under the name “\(layout.machine ?? "")”; nothing "
            + "was done. `pipeline nodes` shows it. Give each a \"name\" of its own in \"node\". A process that was cut off "
            + "keeps the name for up to 45 s.", path: layout.root)
      }
      usleep(100_000)
    }
  }

  private func isNameTaken() throws(CatalogError) -> Bool {
    guard lock != nil, let machine = layout.machine else { return false }
    return try catalog.hold(Catalog.nameOfMachine(machine)) != nil
  }

  override func requireHold(_ source: String?) throws {
    // One that was cut off may have lost it.
    if try isNameTaken() {
      throw IngestError(
        .held,
        "Another machine takes files under the name “\(layout.machine ?? "")” by now, so this one does not. Give each a "
          + "\"name\" of its own in \"node\".")
    }
    try super.requireHold(source)
  }

  override func ownParts() throws(FileError) -> [Descriptor] {
    [try Descriptor.openFolder(layout.root)]
  }

  /// Opens the folder for copies of files on their way to the store, without those that a kill left.
  private static func openIncoming(in folder: Descriptor) throws(FileError) -> Descriptor {
    let name = BytePath(LibraryLayout.incomingFolder)
    try folder.makeFolder(name, mode: 0o700)
    let incoming = try Descriptor.openFolder(name, in: folder, followsLinks: false)
    // Each is a copy of a file that is in its source.
    for entry in try incoming.entries() { try incoming.remove(entry.name) }
    return incoming
  }
}
