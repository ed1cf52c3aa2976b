package import Catalog
package import Files
import Glibc
import PipelineModel
import Records
import Renditions

/// A library that this machine imports into and works for, while another one has its folder and writes its manifest.
package final class JoinedLibrary: ImportingLibrary {
  /// Its locks are held for as long.
  package let workplace: Workplace
  private let lock: FileLock?

  /// - Parameters:
  ///   - layout: with the name of this machine, by which its sources are recorded.
  ///   - lock: of whoever takes files with the workplace's folder; `nil` for what is named by a user.
  ///   - ask: hands imports over to the process with the manifest, and waits until they are recorded.
  package init(
    _ workplace: Workplace, lock: FileLock?, layout: LibraryLayout, catalog: Catalog, reserve: Int,
    report: any IngestReport, isStopped: @escaping @Sendable () -> Bool,
    ask: @escaping (RemoteImport) throws -> RemoteImport.Outcome
  ) throws {
    self.workplace = workplace
    self.lock = lock
    super.init(
      layout: layout, folder: workplace.folder,
      incoming: try Self.openIncoming(in: workplace.folder),
      originals: workplace.originals, records: RemoteRecords(catalog: catalog, ask: ask),
      catalog: catalog, reader: try CatalogReader.open(at: layout.catalogPlace, immutable: false),
      ids: AssetIDGenerator(after: try catalog.newestAssetID()) {
        UInt64(Timestamp.now.microseconds / 1000)
      }, reserve: reserve, mounts: MountTable(), report: report,
      isStopped: isStopped)
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
