package import Catalog
package import Files
package import Manifest
package import Originals
package import PipelineModel

/// A locked library, open for taking: everything that a hand-off writes to.
package final class IngestLibrary {
  package let layout: LibraryLayout
  package let marker: LibraryMarker
  package let folder: Descriptor
  package let incoming: Descriptor
  package let originals: any OriginalStore
  package let manifest: Manifest
  package let catalog: Catalog
  package let reader: CatalogReader
  package let ids: AssetIDGenerator
  /// Bytes of free space that copies leave alone.
  package let reserve: Int
  /// The run that takes; part of every fact and asset.
  package var run: AssetID?
  private let lock: FileLock

  /// Opens the parts of a library that this process has locked, and replays
  /// what the catalog lacks.
  ///
  /// - Parameters:
  ///   - found: the library.
  ///   - lock: the lock on it, kept as long as this object lives.
  ///   - reserve: bytes of free space that copies leave alone.
  ///   - report: hears what recovery found.
  package init(
    _ found: LibraryFolder, lock: FileLock, reserve: Int, report: any IngestReport
  ) throws(IngestError) {
    layout = found.layout
    marker = found.marker
    folder = found.folder
    self.lock = lock
    self.reserve = reserve
    let layout = layout
    let folder = folder
    incoming = try translating {
      try Descriptor.openFolder("incoming", in: folder, followsLinks: false)
    }
    originals = try translating {
      try FolderStore(root: layout.originals, damaged: layout.damaged)
    }
    manifest = try translating { try Manifest(folder: layout.manifest) }
    catalog = try Self.openCatalog(found, manifest: manifest)
    reader = try translating { try CatalogReader.open(at: layout.catalog, immutable: false) }
    let newest = try translating { [catalog] in try catalog.newestAssetID() }
    ids = AssetIDGenerator(after: newest) { UInt64(Timestamp.now.microseconds / 1000) }
    try Recovery(library: self, report: report).recover()
  }

  /// Closes the catalog, which empties its write-ahead log into it.
  ///
  /// A library that is closed can be copied file by file, and read where it can't be written.
  package func close() throws(IngestError) {
    try translating {
      try reader.close()
      try catalog.close()
    }
  }

  /// Makes the catalog of a library whose manifest is still empty; a missing one
  /// of any other library is refused.
  private static func openCatalog(
    _ found: LibraryFolder, manifest: Manifest
  ) throws(IngestError) -> Catalog {
    let file = found.layout.catalog
    do throws(CatalogError) {
      return try Catalog.open(at: file, libraryID: found.marker.library)
    } catch let error where error.code == .missing && manifest.lastSequence == 0 {
      return try translating { try Catalog.create(at: file, libraryID: found.marker.library) }
    } catch {
      throw IngestError(error)
    }
  }
}
