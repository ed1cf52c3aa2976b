package import Files

/// What is sent with a request.
package enum S3Content: Sendable {
  case none
  case bytes([UInt8])
  /// A part of a file.
  case file(Descriptor, offset: Int, count: Int)

  var body: HTTPRequest.Body {
    switch self {
    case .none: .none
    case .bytes(let bytes): .bytes(bytes)
    case .file(let file, let offset, let count): .file(file, offset: offset, count: count)
    }
  }

  /// What is in memory.
  var bytes: [UInt8] {
    if case .bytes(let bytes) = self { bytes } else { [] }
  }
}
