/// Bytes as they come, given out line by line.
package struct LineBuffer {
  private var bytes: [UInt8] = []
  /// How many bytes of `bytes` hold no newline.
  private var searched = 0
  /// Whether a line was given out.
  package private(set) var isUsed = false

  /// Makes an empty one.
  package init() {}

  /// The number of bytes that wait for their newline.
  package var count: Int { bytes.count }

  /// Takes bytes that were read.
  package mutating func add(_ more: some Sequence<UInt8>) { bytes += more }

  /// Returns the next line without its newline, or `nil` if none is whole yet.
  package mutating func next() -> [UInt8]? {
    guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = bytes.count
      return nil
    }
    let line = Array(bytes[..<end])
    bytes.removeSubrange(...end)
    searched = 0
    isUsed = true
    return line
  }

  /// Returns what has no newline yet, and forgets it.
  package mutating func takeRest() -> [UInt8] {
    defer {
      bytes = []
      searched = 0
    }
    return bytes
  }
}
