import Files
import Ingest
import LibrarySession
import Synchronization

/// The library for what takes microseconds, such as the bytes of a thumbnail.
final class SharedLibrary: Sendable {
  private let layout: LibraryLayout
  private let isImmutable: Bool
  private let state: Mutex<ReadableLibrary>

  init(_ layout: LibraryLayout, isImmutable: Bool) throws {
    self.layout = layout
    self.isImmutable = isImmutable
    state = Mutex(try ReadableLibrary(layout, isImmutable: isImmutable))
  }

  var current: ReadableLibrary { state.withLock { $0 } }

  /// Opens the catalog again if it is another file by now; to be called every second or so.
  func refresh() {
    let now = current
    // While a catalog is made anew there may be none; the next look finds it.
    guard now.isOutdated, let other = try? ReadableLibrary(layout, isImmutable: isImmutable) else {
      return
    }
    state.withLock { $0 = other }
  }
}
