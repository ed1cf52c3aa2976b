/// Bytes as they come, given out line by line.
package struct LineBuffer {
  private var bytes: [UInt8] = []
  /// Where what was not given out begins; what is before it goes with the next addition.
  private var start = 0
  /// Up to where there is no newline.
  private var searched = 0
  /// Whether a line was given out.
  package private(set) var isUsed = false

  /// Makes an empty one.
  package init() {}

  /// The number of bytes that wait for their newline.
  package var count: Int { bytes.count - start }

  /// Takes bytes that were read.
  package mutating func add(_ more: some Sequence<UInt8>) {
    bytes.removeSubrange(..<start)
    searched -= start
    start = 0
    bytes += more
  }

  /// Returns the next line without its newline, or `nil` if none is whole yet.
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

  /// Returns what has no newline yet, and forgets it.
  package mutating func takeRest() -> [UInt8] {
    defer {
      bytes = []
      start = 0
      searched = 0
    }
    return Array(bytes[start...])
  }
}
