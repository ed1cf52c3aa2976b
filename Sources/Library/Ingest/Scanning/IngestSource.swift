import Catalog
package import Configuration
package import Files
package import PipelineModel

/// A source that is open for scanning and importing.
package struct IngestSource: Sendable {
  /// The absolute path; `/` for what was named to `import`.
  package let root: BytePath
  /// The path as it is recorded, which says on which machine it is, if it is not on that with the manifest.
  package let recorded: BytePath
  /// The name under which several machines know it.
  let shared: String?
  package let folder: Descriptor
  /// Whether files are removed once their bytes are safe.
  package let moves: Bool
  package let takesByRename: Bool
  /// What happens to content that is already stored.
  package let duplicates: SourceConfiguration.Duplicates
  package let removesEmptyFolders: Bool

  /// - Parameter layout: of the library that it is imported into; `nil` for none yet.
  package init(_ source: SourceConfiguration, for layout: LibraryLayout?) throws(FileError) {
    root = source.path
    shared = source.shared
    recorded = layout?.recorded(source) ?? source.path
    folder = try Descriptor.openFolder(source.path)
    moves = source.mode == .move
    takesByRename =
      source.mode == .move && source.take == .auto && layout?.machine == nil
    duplicates = source.mode == .copy && source.duplicates == .discard ? .keep : source.duplicates
    removesEmptyFolders = source.mode == .move && source.emptyFolders == .remove
  }

  /// Whether nothing is at a path. One that can't be examined may exist.
  func isMissing(_ path: BytePath) -> Bool {
    do throws(FileError) {
      _ = try folder.status(below: path)
      return false
    } catch {
      return error.code == .notFound
    }
  }

  /// The source of what is named to `import`: nothing is ever removed from it.
  package static func imported() throws(FileError) -> IngestSource {
    var source = SourceConfiguration(path: BytePath("/"))
    source.mode = .copy
    return try IngestSource(source, for: nil)
  }

  /// Opens a configured source to import from.
  ///
  /// - Throws: `IngestError` of code `source` if it is missing, inside a library, or changed.
  static func open(
    _ configuration: SourceConfiguration, for library: ImportingLibrary
  ) throws -> IngestSource {
    try library.requireHold(configuration.shared)
    let length = library.recorded(configuration.path).bytes.count
    guard library.pathLimit == nil || length <= PathLimit.longestSource else {
      throw IngestError(
        .source,
        "The source was skipped, because its path has \(length) bytes and a "
          + "catalog in PostgreSQL has at most \(PathLimit.longestSource).",
        path: configuration.path)
    }
    let mounts = MountGuard(library: library)
    try mounts.checkTable(configuration.path)
    let source: IngestSource
    do throws(FileError) {
      source = try IngestSource(configuration, for: library.layout)
    } catch {
      throw missing(configuration, error)
    }
    try library.check(configuration.path, isOutsideFor: "The source")
    try mounts.check(source)
    return source
  }

  /// The error for a source that can't be read.
  static func missing(_ configuration: SourceConfiguration, _ error: FileError) -> IngestError {
    IngestError(
      .source,
      "\(error.message) The source was skipped; its files' records are unchanged.",
      path: configuration.path, cause: error)
  }
}

/// Refuses a source whose disk is not mounted.
///
/// An unmounted disk leaves a folder behind, usually empty, which says nothing about its files.
struct MountGuard {
  let library: ImportingLibrary

  private static let prefix = "source.mount."

  /// Refuses a source at or below a configured mount point where nothing is mounted. May be called
  /// before the source is opened.
  func checkTable(_ path: BytePath) throws { try Self.checkTable(path, library.mounts) }

  static func checkTable(_ path: BytePath, _ mounts: MountTable) throws {
    guard let point = try mounts.missingMount(above: path) else { return }
    throw IngestError(
      .source,
      "No disk is mounted at “\(point.printable)”, a mount point in /etc/fstab, so the source “\(path.printable)” is "
        + "not there: mount the disk. If the mount point is no longer used, remove it from /etc/fstab.",
      path: path)
  }

  /// Refuses a source that was on its own disk and is not now; remembers its disk.
  func check(_ source: IngestSource) throws {
    let key = Self.key(library.recorded(source.root))
    let remembered = try library.catalog.setting(key)
    let point = try Self.mountPoint(of: source.root, remembered: remembered)
    let found = "at:" + Hexadecimal.encode(point.bytes)
    if remembered != found { try library.catalog.set(key, to: found) }
  }

  /// The setting that remembers the disk of a source, by its recorded path.
  static func key(_ source: BytePath) -> String { prefix + Hexadecimal.encode(source.bytes) }

  /// Where the disk of a source is mounted.
  ///
  /// - Throws: `IngestError` of code `source` if that is not the remembered one, but one above it.
  static func mountPoint(of source: BytePath, remembered: String?) throws -> BytePath {
    let path = try FileSystem.realPath(of: source)
    let point = try FileSystem.mountPoint(of: path)
    if let before = mountPoint(remembered, of: path), before.isBetween(point, path) {
      throw IngestError(
        .source,
        "The source “\(source.printable)” was on a disk mounted at “\(before.printable)”, "
          + "and none is mounted there now: mount the disk. If the source no longer needs that disk, "
          + "remove it from the configuration for one run.",
        path: source)
    }
    return point
  }

  /// Forgets the disks of sources that are no longer configured.
  func forget(allBut sources: [SourceConfiguration]) throws {
    let kept = Set(sources.map { Self.key(library.recorded($0.path)) })
    for key in try library.catalog.settings(beginningWith: Self.prefix)
    where !kept.contains(key) && isOwn(key) {
      try library.catalog.set(key, to: nil)
    }
  }

  /// Whether a setting is about this machine.
  private func isOwn(_ key: String) -> Bool {
    let path = Hexadecimal.decode(key.dropFirst(Self.prefix.count).utf8).map { BytePath(bytes: $0) }
    return path.flatMap { MachinePath.machine(of: $0) } == library.layout.machine
  }

  private static func mountPoint(_ text: String?, of path: BytePath) -> BytePath? {
    // Earlier versions only recorded that the source itself was one.
    if text == "1" { return path }
    guard let text, text.hasPrefix("at:"), let bytes = Hexadecimal.decode(text.utf8.dropFirst(3))
    else { return nil }
    return BytePath(bytes: bytes)
  }
}

extension BytePath {
  /// Whether this folder is below another, and is a path or one of its parents.
  fileprivate func isBetween(_ upper: BytePath, _ path: BytePath) -> Bool {
    relative(to: upper) != nil && (self == path || path.relative(to: self) != nil)
  }
}
