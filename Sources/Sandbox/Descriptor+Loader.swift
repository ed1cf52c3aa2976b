import Files
import Glibc
import PipelineModel

extension Descriptor {
  /// Reads bytes at an offset; fewer at the end of the file.
  func read(upTo count: Int, at offset: Int) throws(FileError) -> [UInt8] {
    try seek(to: offset)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
    defer { buffer.deallocate() }
    return Array(buffer.prefix(try read(into: buffer)))
  }

  /// Returns the loader that a program names, or `nil`. Source: elf(5), `PT_INTERP`.
  ///
  /// - Parameter head: the beginning of the file.
  func loader(_ head: [UInt8]) throws(FileError) -> BytePath? {
    // 64-bit little-endian only: the system call filter kills other programs.
    guard head.count >= 64, head[4] == 2, head[5] == 1 else { return nil }
    let table = Self.number(head, at: 32, size: 8)
    let size = Self.number(head, at: 54, size: 2)
    let count = Self.number(head, at: 56, size: 2)
    guard size >= 56, table < 1 << 40 else { return nil }
    for index in 0..<min(count, 256) {
      let entry = try read(upTo: 56, at: table + index * size)
      guard entry.count == 56 else { return nil }
      guard Self.number(entry, at: 0, size: 4) == PT_INTERP else { continue }
      let length = Self.number(entry, at: 32, size: 8)
      let place = Self.number(entry, at: 8, size: 8)
      guard (2...4096).contains(length), place < 1 << 40 else { return nil }
      return BytePath(bytes: try read(upTo: length, at: place).prefix { $0 != 0 })
    }
    return nil
  }

  /// Decodes a little-endian number, clamped to `Int`.
  private static func number(_ bytes: [UInt8], at offset: Int, size: Int) -> Int {
    Int(
      clamping: bytes[offset..<offset + size].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }
}
