package import Containers

extension PictureFile {
  /// Reads the tags of a file with TIFF directories.
  ///
  /// - Parameter body: receives a reader, which treats unreadable bytes as absent.
  /// - Returns: what `body` returns, or `nil` if the file has no TIFF header.
  /// - Throws: `VipsError` as `withBytes` does.
  package func withTags<Result>(_ body: (TagReader) -> Result) throws(VipsError) -> Result? {
    try withFetching { fetch in TagReader(read: fetch).map(body) }
  }

  /// Reads bounded parts of the file by offset.
  ///
  /// - Parameter body: receives a reader, which treats unreadable bytes as absent.
  /// - Throws: `VipsError` if the kernel failed to read, whatever `body` returned: a fact that a
  ///   failing disk hides must not be recorded as absent.
  package func withBytes<Result>(_ body: (ByteReader) -> Result) throws(VipsError) -> Result {
    try withFetching { fetch in body(ByteReader(size: size, fetch: fetch)) }
  }

  private func withFetching<Result>(
    _ body: (@escaping (_ offset: Int, _ count: Int) -> [UInt8]) -> Result
  ) throws(VipsError) -> Result {
    var failure: VipsError?
    let result = body { offset, count in
      do throws(VipsError) {
        return try self.read(at: offset, count: count)
      } catch {
        failure = error
        return []
      }
    }
    if let failure { throw failure }
    return result
  }
}
