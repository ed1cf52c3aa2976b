import Catalog
import Engine
import Files
import Glibc
import Ingest
import Manifest
import PipelineModel

/// Handles a disk that fills up between two checks of its free space.
///
/// Reopening the library recovers unfinished work, so a daemon waits for space
/// instead of ending.
enum FullDisk {
  /// Whether a full disk is the direct or indirect cause of an error.
  static func isCause(of error: any Error) -> Bool {
    switch error {
    case let error as IngestError:
      error.code == .noSpace || error.cause.map(isCause) == true
    case let error as EngineError: error.cause.map(isCause) == true
    case let error as CatalogError: error.code == .noSpace
    case let error as ManifestError: error.cause?.code == .noSpace
    case let error as FileError: error.code == .noSpace
    default: false
    }
  }

  /// Waits until the reserve is free again.
  ///
  /// - Returns: `false` if the user asked to stop.
  static func wait(for library: LockedLibrary) -> Bool {
    repeat {
      for _ in 0..<50 {
        if SignalHandler.shared.isStopRequested { return false }
        Heartbeat.shared.beat()
        usleep(100_000)
      }
    } while !hasRoom(library.setup)
    return true
  }

  private static func hasRoom(_ setup: LibrarySetup) -> Bool {
    [setup.layout.root, setup.layout.catalogFolder].allSatisfy { folder in
      // If a disk can't be queried, try again later.
      guard let facts = try? Descriptor.openFolder(folder).fileSystem() else { return false }
      return facts.freeBytes > setup.reserve()
    }
  }
}
