/// A buffer that splits incoming bytes into lines.
package struct LineBuffer {
  private var bytes: [UInt8] = []
  /// Where unreturned bytes begin; the next `add` drops those before.
  private var start = 0
  /// Where the search for a newline continues.
  private var searched = 0
  /// Whether a line was returned.
  package private(set) var isUsed = false

  package init() {}

  /// The number of bytes that wait for their newline.
  package var count: Int { bytes.count - start }

  package mutating func add(_ more: some Sequence<UInt8>) {
    bytes.removeSubrange(..<start)
    searched -= start
    start = 0
    bytes += more
  }

  /// Returns the next line without its newline, or `nil` if none is complete.
  package mutating func next() -> [UInt8]? {
    guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = bytes.count
      return nil
    }
    let line = Array(bytes[start..<end])
    start = end + 1
    searched = start
    isUsed = true
    return line
  }

  /// Returns and removes the next bytes, whether lines or not, as far as there are any.
  package mutating func take(most count: Int) -> [UInt8] {
    let end = min(bytes.count, start + count)
    let taken = Array(bytes[start..<end])
    start = end
    searched = max(searched, start)
    return taken
  }

  /// Returns and removes the bytes without a newline.
  package mutating func consumeRest() -> [UInt8] {
    defer {
      bytes = []
      start = 0
      searched = 0
    }
    return Array(bytes[start...])
  }
}
