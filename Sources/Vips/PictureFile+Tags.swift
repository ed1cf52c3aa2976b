extension PictureFile {
  /// Reads the tags of a file that is made of TIFF's directories.
  ///
  /// - Parameter body: receives a reader; what can't be read is as good as absent to it.
  /// - Returns: what `body` returns, or `nil` if the file has no TIFF header.
  /// - Throws: `VipsError` if the kernel failed to read, whatever `body` made of it: a fact
  ///   that a failing disk hides must not be recorded as absent.
  package func withTags<Result>(_ body: (TagReader) -> Result) throws(VipsError) -> Result? {
    var failure: VipsError?
    let reader = TagReader { offset, count in
      do throws(VipsError) {
        return try self.read(at: offset, count: count)
      } catch {
        failure = error
        return []
      }
    }
    let result = reader.map(body)
    if let failure { throw failure }
    return result
  }
}
