import Glibc

extension Descriptor {
  /// Whether this file begins with all bytes of another, as a file does with its partial copy.
  ///
  /// Reads both from the beginning.
  ///
  /// - Parameter isStopped: called for each mebibyte, if given.
  /// - Throws: `FileError`, of code `stopped` if `isStopped` returns true.
  package func begins(
    with part: Descriptor, isStopped: (() -> Bool)? = nil
  ) throws(FileError) -> Bool {
    let size = 1 << 20
    let own = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
    let other = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
    defer {
      own.deallocate()
      other.deallocate()
    }
    try seek(to: 0)
    try part.seek(to: 0)
    while true {
      if isStopped?() == true { throw .stopped(path) }
      let wanted = try part.read(into: other)
      if wanted == 0 { return true }
      let expected = UnsafeMutableRawBufferPointer(rebasing: own[..<wanted])
      guard try fill(expected), let first = own.baseAddress, let second = other.baseAddress,
        memcmp(first, second, wanted) == 0
      else { return false }
    }
  }

  /// Fills a buffer; returns whether the file had that many bytes left.
  private func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Bool {
    var rest = buffer
    while !rest.isEmpty {
      let count = try read(into: rest)
      if count == 0 { return false }
      rest = UnsafeMutableRawBufferPointer(rebasing: rest[count...])
    }
    return true
  }
}
