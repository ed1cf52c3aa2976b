package import Files

/// The content of a rendition that matches its record.
package enum VerifiedRendition {
  case bytes([UInt8])
  case file(Descriptor)

  /// Calls `body` with the content in chunks, however large it is.
  package func forEachChunk(
    _ body: (UnsafeRawBufferPointer) throws(FileError) -> Void
  ) throws(FileError) {
    switch self {
    case .bytes(let bytes):
      try bytes.withUnsafeBytes { bytes in
        Result { () throws(FileError) in try body(bytes) }
      }.get()
    case .file(let file):
      try file.seek(to: 0)
      try file.forEachChunk(body)
    }
  }
}
