import Catalog
import Files
import Ingest
import LibrarySession
import Records
import Synchronization

/// The library for what takes microseconds, such as the bytes of a thumbnail.
final class SharedLibrary: Sendable {
  /// Another one as soon as anything was committed to the catalog, or there is another catalog.
  struct Version: Hashable, Sendable {
    /// How often the catalog was opened.
    fileprivate var opened: Int
    fileprivate var data: Int64
  }

  private let layout: LibraryLayout
  private let isImmutable: Bool
  private let state: Mutex<(library: ReadableLibrary, opened: Int)>

  init(_ layout: LibraryLayout, isImmutable: Bool) throws {
    self.layout = layout
    self.isImmutable = isImmutable
    state = Mutex((try ReadableLibrary(layout, isImmutable: isImmutable), 1))
  }

  var current: ReadableLibrary { state.withLock { $0.library } }

  var version: Version {
    get throws(CatalogError) {
      let (library, opened) = state.withLock { $0 }
      return Version(opened: opened, data: try library.catalog.dataVersion)
    }
  }

  /// Opens the catalog again if it is another file by now; to be called every second or so.
  func refresh() {
    let now = current
    // While a catalog is made anew there may be none; the next look finds it.
    guard now.isOutdated, let other = try? ReadableLibrary(layout, isImmutable: isImmutable) else {
      return
    }
    state.withLock { $0 = (other, $0.opened + 1) }
  }
}
