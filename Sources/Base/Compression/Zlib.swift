internal import CZlib

/// The formats of zlib. Source: RFC 1950, RFC 1952.
package enum Zlib {
  /// Inflates zlib data; returns `nil` if it is damaged, or longer than the limit.
  package static func inflate(
    _ bytes: some Collection<UInt8>, atMost greatest: Int
  ) -> [UInt8]? {
    let source = Array(bytes)
    var isWhole = false
    // Grow in steps, because most texts are short.
    var room = min(greatest, max(4096, source.count * 8))
    while true {
      let text = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
        var length = uLongf(room)
        let status = uncompress(buffer.baseAddress, &length, source, uLong(source.count))
        isWhole = status == Z_OK
        count = isWhole ? Int(length) : 0
        if status != Z_OK, status != Z_BUF_ERROR { room = greatest }
      }
      if isWhole { return text }
      guard room < greatest else { return nil }
      room = min(greatest, room * 8)
    }
  }

  /// Compresses bytes as a gzip file; returns `nil` if there is not enough memory.
  package static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    // 16 asks for the header of gzip; level 6 is zlib's default.
    let status = deflateInit2_(
      &stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    let room = Int(deflateBound(&stream, uLong(bytes.count)))
    var isWhole = false
    let packed = bytes.withUnsafeBytes { source in
      [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
        // zlib only reads from it.
        stream.next_in = UnsafeMutablePointer(
          mutating: source.assumingMemoryBound(to: UInt8.self).baseAddress)
        stream.avail_in = UInt32(source.count)
        stream.next_out = buffer.baseAddress
        stream.avail_out = UInt32(room)
        isWhole = deflate(&stream, Z_FINISH) == Z_STREAM_END
        count = isWhole ? Int(stream.total_out) : 0
      }
    }
    return isWhole ? packed : nil
  }
}
