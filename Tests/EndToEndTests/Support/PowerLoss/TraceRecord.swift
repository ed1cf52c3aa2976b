import PipelineModel

/// One call that changed files, as `TraceShim` wrote it down.
struct TraceRecord {
  enum Kind: UInt32 {
    case create = 1
    case write, truncate, rename, link, unlink, makeFolder, removeFolder, sync, syncData, meta
    case output, unknown, syncAll
  }

  let kind: Kind
  /// The inode after the call; 0 where there was none any more.
  let inode: UInt64
  let offset: Int
  /// The size and the rest of the status after the call.
  let size: Int
  let mode: UInt32
  let modified: Int64
  let changed: Int64
  /// The bytes, or the path.
  let first: [UInt8]
  /// The second path.
  let second: [UInt8]

  /// Whether the call promises that something is on disk.
  var isSync: Bool { [.sync, .syncData, .syncAll].contains(kind) }

  /// Reads a trace.
  static func parse(_ bytes: [UInt8]) throws -> [TraceRecord] {
    var records: [TraceRecord] = []
    let headerSize = 56
    try bytes.withUnsafeBytes { buffer in
      var at = 0
      func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type) -> Number {
        buffer.loadUnaligned(fromByteOffset: at + offset, as: Number.self)
      }
      while at + headerSize <= buffer.count {
        let first = Int(number(4, UInt32.self))
        let second = Int(number(36, UInt32.self))
        let start = at + headerSize
        guard let kind = Kind(rawValue: number(0, UInt32.self)), kind != .unknown,
          start + first + second <= buffer.count
        else { throw TraceError("A record at \(at) says nothing that can be replayed.") }
        records.append(
          TraceRecord(
            kind: kind, inode: number(8, UInt64.self), offset: Int(number(16, UInt64.self)),
            size: Int(number(24, UInt64.self)), mode: number(32, UInt32.self),
            modified: number(40, Int64.self), changed: number(48, Int64.self),
            first: [UInt8](buffer[start..<start + first]),
            second: [UInt8](buffer[start + first..<start + first + second])))
        at = start + first + second
      }
      guard at == buffer.count else { throw TraceError("The trace ends in half a record.") }
    }
    return records
  }
}

/// Why a trace can't be replayed.
struct TraceError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
