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

  private struct State {
    var library: ReadableLibrary
    /// Those that are not lent now; at first `library`.
    var free: [ReadableLibrary]
    var opened: Int

    init(_ library: ReadableLibrary, opened: Int) {
      self.library = library
      free = [library]
      self.opened = opened
    }
  }

  private let opener: LibraryOpener
  private let state: Mutex<State>

  init(_ opener: LibraryOpener) throws {
    self.opener = opener
    state = Mutex(State(try opener.open(limit: QueryPool.patience), opened: 1))
  }

  var current: ReadableLibrary { state.withLock { $0.library } }

  var version: Version {
    get throws(CatalogError) {
      let (library, opened) = state.withLock { ($0.library, $0.opened) }
      return Version(opened: opened, data: try library.catalog.dataVersion)
    }
  }

  /// Opens the catalog again if it is another file by now; to be called every second or so.
  func refresh() {
    let now = current
    if opener.isConfined {
      // The process that started this one looks as well, and starts another one.
      let end = ContinuousClock.now + QueryPool.patience
      let isOutdated = try? now.catalog.interruptible(when: { ContinuousClock.now > end }) {
        now.isOutdated
      }
      if isOutdated ?? false { LostDatabase.shared.note() }
      return
    }
    // While a catalog is made anew there may be none; the next look finds it.
    guard now.isOutdated, let other = try? opener.open() else { return }
    state.withLock { $0 = State(other, opened: $0.opened + 1) }
  }

  /// Runs a body with a connection that hardly anybody else uses meanwhile, so that threads that answer don't
  /// wait for each other. There are at most as many as bodies ran at once.
  func lend<Value>(_ body: (ReadableLibrary) throws -> Value) rethrows -> Value {
    let (free, opened) = state.withLock { ($0.free.popLast(), $0.opened) }
    let own = free ?? LostDatabase.shared.noting { try opener.open(limit: QueryPool.patience) }
    defer {
      state.withLock { state in
        // Another catalog may have been opened meanwhile.
        if let own, state.opened == opened { state.free.append(own) }
      }
    }
    // If none can be opened now, threads wait for each other.
    return try body(own ?? current)
  }
}
