package import PipelineModel

/// Paths of originals: `ab/<sha256>` below `originals/`.
///
/// One level of 256 folders: flushing 16,384 renamed files took 1.9 s, with two levels 4.6 s.
package enum OriginalLayout {
  /// The folder's name: the first two digits of the digest.
  package static func folder(of digest: Digest) -> BytePath {
    BytePath(String(digest.hex.prefix(2)))
  }

  /// The name of the folder for digests that begin with a byte.
  package static func folder(of byte: UInt8) -> BytePath {
    BytePath(Hexadecimal.encode([byte]))
  }

  /// The file's name: all digits of the digest.
  package static func name(of digest: Digest) -> BytePath { BytePath(digest.hex) }

  /// The path below `originals/`.
  package static func path(of digest: Digest) -> BytePath {
    folder(of: digest).appending(name(of: digest))
  }

  /// The digest that a folder and a name stand for, or `nil` if they name no original.
  package static func digest(folder: BytePath, name: BytePath) -> Digest? {
    guard let text = name.utf8, let digest = Digest(text), digest.hex == text,
      self.folder(of: digest) == folder
    else { return nil }
    return digest
  }
}
