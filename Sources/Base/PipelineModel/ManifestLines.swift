/// Lines of a manifest that follow each other, as they are in its files.
package struct ManifestLines: Hashable, Sendable {
  /// The position of the first line's fact.
  package var first: Int64
  package var last: Int64
  /// Each line with its newline.
  package var bytes: [UInt8]

  package init(first: Int64, last: Int64, bytes: [UInt8]) {
    (self.first, self.last, self.bytes) = (first, last, bytes)
  }
}
