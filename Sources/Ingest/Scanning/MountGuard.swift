import Catalog
import Configuration
import Files
import PipelineModel

/// Refuses a source whose disk is not mounted.
///
/// An unmounted disk leaves a folder behind, usually empty, which says nothing about its files.
struct MountGuard {
  let library: IngestLibrary

  private static let prefix = "source.mount."

  /// Refuses a source at or below a configured mount point where nothing is mounted. May be called
  /// before the source is opened.
  func checkTable(_ path: BytePath) throws(IngestError) {
    guard let point = try translating({ try library.mounts.missingMount(above: path) }) else {
      return
    }
    throw IngestError(
      .source,
      "The source “\(path.printable)” was skipped, because no disk is mounted at "
        + "“\(point.printable)”, a mount point in /etc/fstab: mount it. If it is no longer used, "
        + "remove it from /etc/fstab.", path: path)
  }

  /// Refuses a source that was on its own disk and is not now; remembers its disk.
  func check(_ source: IngestSource) throws(IngestError) {
    let key = Self.prefix + Hexadecimal.encode(source.root.bytes)
    try translating {
      let path = try FileSystem.realPath(of: source.root)
      let point = try FileSystem.mountPoint(of: path)
      let remembered = try library.catalog.setting(key)
      if let before = Self.mountPoint(remembered, of: path), before.isBetween(point, path) {
        throw IngestError(
          .source,
          "The source “\(source.root.printable)” was on a disk mounted at “\(before.printable)”, "
            + "and none is mounted there now: mount it. If the source no longer needs that disk, "
            + "remove it from the configuration for one run.",
          path: source.root)
      }
      let found = "at:" + Hexadecimal.encode(point.bytes)
      if remembered != found { try library.catalog.set(key, to: found) }
    }
  }

  /// Forgets the disks of sources that are no longer configured.
  func forget(allBut sources: [SourceConfiguration]) throws(IngestError) {
    let kept = Set(sources.map { Self.prefix + Hexadecimal.encode($0.path.bytes) })
    try translating {
      for key in try library.catalog.settings(beginningWith: Self.prefix) where !kept.contains(key)
      {
        try library.catalog.set(key, to: nil)
      }
    }
  }

  private static func mountPoint(_ text: String?, of path: BytePath) -> BytePath? {
    // Earlier versions only recorded that the source itself was one.
    if text == "1" { return path }
    guard let text, text.hasPrefix("at:"), let bytes = Hexadecimal.decode(text.utf8.dropFirst(3))
    else {
      return nil
    }
    return BytePath(bytes: bytes)
  }
}

extension BytePath {
  /// Whether this folder is below another, and is a path or one of its parents.
  fileprivate func isBetween(_ upper: BytePath, _ path: BytePath) -> Bool {
    relative(to: upper) != nil && (self == path || path.relative(to: self) != nil)
  }
}
