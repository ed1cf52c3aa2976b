/// Bytes as they come, given out line by line.
struct LineBuffer {
  private var bytes: [UInt8] = []
  /// How many bytes of `bytes` hold no newline.
  private var searched = 0
  /// Whether a line was given out.
  private(set) var isUsed = false

  /// The number of bytes that wait for their newline.
  var count: Int { bytes.count }

  mutating func add(_ more: some Sequence<UInt8>) { bytes += more }

  /// Returns the next line without its newline, or `nil` if none is whole yet.
  mutating func next() -> [UInt8]? {
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
}
