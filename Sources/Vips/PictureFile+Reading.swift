package import Containers

extension PictureFile {
  /// Reads the tags of a file that is made of TIFF's directories.
  ///
  /// - Parameter body: receives a reader; what can't be read is as good as absent to it.
  /// - Returns: what `body` returns, or `nil` if the file has no TIFF header.
  /// - Throws: `VipsError` as `withBytes` does.
  package func withTags<Result>(_ body: (TagReader) -> Result) throws(VipsError) -> Result? {
    try withFetching { fetch in TagReader(read: fetch).map(body) }
  }

  /// Reads the file by offset, a bounded number of bytes.
  ///
  /// - Parameter body: receives a reader; what can't be read is as good as absent to it.
  /// - Throws: `VipsError` if the kernel failed to read, whatever `body` made of it: a fact
  ///   that a failing disk hides must not be recorded as absent.
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
