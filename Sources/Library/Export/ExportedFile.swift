package import Files
package import PipelineModel

/// What became of one asset in an export.
package struct ExportedFile: Sendable {
  package enum Outcome: Sendable {
    /// It was written, or would be in a dry run.
    case exported
    /// The same bytes are there, from an earlier export or of another asset.
    case present
    /// It has no such rendition.
    case skipped
    case failed(FileError)
  }

  package var asset: AssetID
  /// The path below the destination; `nil` if there is none.
  package var path: BytePath?
  /// Whether another file has the path that the layout gave it.
  package var isRenamed = false
  /// The size of the file.
  package var bytes: Int
  package var outcome: Outcome
}

/// How many assets came to what.
package struct ExportCounts: Hashable, Sendable {
  package var exported = 0
  package var present = 0
  package var skipped = 0
  package var failed = 0
  /// Of the exported ones, those with a number in their name.
  package var renamed = 0
  /// XMP sidecars that are there now.
  package var sidecars = 0
  /// The bytes of the exported ones.
  package var bytes = 0

  /// All assets that were to be exported.
  package var found: Int { exported + present + skipped + failed }

  mutating func add(_ file: ExportedFile) {
    switch file.outcome {
    case .exported:
      exported += 1
      bytes += file.bytes
      if file.isRenamed { renamed += 1 }
    case .present: present += 1
    case .skipped: skipped += 1
    case .failed: failed += 1
    }
  }
}

/// How bytes get to their destination.
package enum ExportTransfer: String, CaseIterable, Sendable {
  /// Share blocks if the file system can, otherwise copy.
  case auto
  /// Share blocks, which both files may change independently. Source: ioctl_ficlone(2).
  case reflink
  /// A second name of the original, so whoever changes one changes both.
  case hardlink
  /// Always copy.
  case copy
}
