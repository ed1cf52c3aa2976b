import Files
import Fixtures
import Glibc
import Ingest
import PipelineModel
import Records
import Testing

@testable import Catalog
@testable import Web

/// The connections that answers share.
@Suite("Shared library", .timeLimit(.minutes(1)))
struct SharedLibraryTests {
  private let temporary: TemporaryFolder
  private let layout: LibraryLayout

  init() throws {
    temporary = try TemporaryFolder()
    layout = LibraryLayout(root: temporary.appending("library"))
    try LibraryFolder.make(layout, in: try Descriptor.openFolder(temporary.path))
    try makeCatalog()
  }

  private func makeCatalog() throws {
    let marker = try LibraryFolder.open(layout).marker
    try Catalog.create(at: layout.catalog, libraryID: marker.library).close()
  }

  @Test("Those who use the library at once have connections of their own, which are used again")
  func lent() throws {
    let shared = try SharedLibrary(LibraryOpener(layout, isImmutable: false))
    var used: [Set<ObjectIdentifier>] = []
    for _ in 1...2 {
      let (first, second) = shared.lend { first in
        shared.lend { second in (first.catalog, second.catalog) }
      }
      #expect(first !== second)
      used.append([ObjectIdentifier(first), ObjectIdentifier(second)])
    }
    #expect(used[0] == used[1])
  }

  @Test("A connection to a catalog that was replaced meanwhile is not used again")
  func replaced() throws {
    let shared = try SharedLibrary(LibraryOpener(layout, isImmutable: false))
    let old = try shared.lend { library in
      for suffix in ["", "-wal", "-shm"] {
        unlink(layout.catalog.description + suffix)
      }
      try makeCatalog()
      shared.refresh()
      return library.catalog
    }
    #expect(shared.current.catalog !== old)
    shared.lend { first in
      #expect(first.catalog !== old)
      shared.lend { #expect($0.catalog !== old) }
    }
  }

  @Test("Without a catalog to open, connections are shared")
  func missing() throws {
    let shared = try SharedLibrary(LibraryOpener(layout, isImmutable: false))
    shared.lend { first in
      unlink(layout.catalog.description)
      shared.lend { #expect($0.catalog === first.catalog) }
    }
  }
}
