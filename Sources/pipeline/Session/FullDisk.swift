import Catalog
import Engine
import Files
import Glibc
import Ingest
import Manifest
import PipelineModel

/// A disk that became full between two looks at its free space.
///
/// What was under way is recovered when the library is opened again, so a daemon
/// waits for room instead of ending.
enum FullDisk {
  /// Whether an error comes of it, however deep.
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
        if Interruption.shared.isRequested { return false }
        Pulse.shared.beat()
        usleep(100_000)
      }
    } while !hasRoom(library.surroundings)
    return true
  }

  private static func hasRoom(_ surroundings: Surroundings) -> Bool {
    [surroundings.layout.root, surroundings.layout.catalogFolder].allSatisfy { folder in
      // A disk that can't be asked is looked at again.
      guard let facts = try? Descriptor.openFolder(folder).fileSystem() else { return false }
      return facts.freeBytes > surroundings.reserve()
    }
  }
}
