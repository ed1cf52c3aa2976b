import Files
import Glibc
import PipelineModel
import Renditions
import Synchronization

/// A store that breaks one promise, to show that the checks notice.
final class WrongRenditionStore: RenditionStore {
  enum Fault: CaseIterable {
    case mixesPaths, keepsFirst, ignoresStages, storesOnce, pointsToOriginal, movesStored
    case believesMissing, cutsBytes, givesNoSize, givesWrongSize, opensAnything, keepsRemoved
    case failsOnSecondRemove, removesFolder, writesInPlace, remembersOnly
  }

  private let store: RenditionFolder
  private let library: Descriptor
  private let fault: Fault
  /// The paths of what was stored through this one.
  private let known = Mutex<Set<String>>([])

  init(in library: Descriptor, fault: Fault) {
    store = RenditionFolder(in: library)
    self.library = library
    self.fault = fault
  }

  func put(_ renditions: [IncomingRendition]) throws(FileError) -> [String] {
    var paths: [String] = []
    for rendition in renditions { paths.append(try put(rendition)) }
    known.withLock { $0.formUnion(paths) }
    return fault == .mixesPaths ? paths.reversed() : paths
  }

  private func put(_ rendition: IncomingRendition) throws(FileError) -> String {
    var rendition = rendition
    let path = RenditionLayout.path(of: rendition.name).description
    let isThere = try store.size(of: path) != nil
    switch (fault, rendition.content) {
    case (.ignoresStages, _): rendition.name.stage = "stage"
    case (.cutsBytes, .bytes(let bytes)): rendition.content = .bytes(Array(bytes.dropLast()))
    case (.keepsFirst, _) where isThere: return path
    case (.pointsToOriginal, .stored(let old, _)): return old
    case (.believesMissing, .stored(let old, _)):
      if try store.size(of: old) == nil { return path }
    case (.movesStored, .stored(let old, _)):
      let paths = try store.put([rendition])
      try store.remove(old)
      return paths[0]
    case (.storesOnce, .file) where known.withLock({ $0.contains(path) }):
      throw FileError(.exists, "It is there.", path: BytePath(path))
    case (.writesInPlace, .bytes(let bytes)) where isThere:
      let place = BytePath(path)
      let folder = try library.openParent(of: place)
      try Descriptor.open(place.lastComponent, in: folder, flags: O_WRONLY | O_TRUNC).write(bytes)
      return path
    default: break
    }
    return try store.put([rendition])[0]
  }

  var place: String { store.place }
  var isOnServer: Bool { false }
  var callsAtOnce: Int { 1 }

  func open(_ path: String, copyOf digest: Digest?) throws(FileError) -> Descriptor {
    if fault == .remembersOnly, !known.withLock({ $0.contains(path) }) {
      throw FileError(.notFound, "It is unknown.", path: BytePath(path))
    }
    do throws(FileError) {
      return try store.open(path)
    } catch {
      guard fault == .opensAnything else { throw error }
      return try Descriptor.open("/dev/null", flags: O_RDONLY)
    }
  }

  func size(of path: String) throws(FileError) -> Int? {
    let size = try store.size(of: path)
    return switch fault {
    case .givesNoSize: nil
    case .givesWrongSize: size.map { $0 + 1 }
    default: size
    }
  }

  func remove(_ path: String) throws(FileError) {
    switch fault {
    case .keepsRemoved: return
    case .failsOnSecondRemove: _ = try store.open(path)
    case .removesFolder:
      let folder = try library.openParent(of: BytePath(path))
      for entry in try folder.entries() { try folder.remove(entry.name) }
      return
    default: break
    }
    try store.remove(path)
  }
}
