import FoundationEssentials

/// A path as the kernel sees it: bytes other than NUL, not necessarily UTF-8.
public struct BytePath: Hashable, Sendable, Comparable, ExpressibleByStringLiteral {
  /// The bytes, without a terminating NUL.
  public let bytes: [UInt8]

  /// Creates a path from bytes.
  @inlinable
  public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  /// Creates a path from text.
  public init(_ text: String) { bytes = Array(text.utf8) }

  /// Creates a path from a null-terminated string.
  package init(cString: UnsafePointer<CChar>) {
    var bytes: [UInt8] = []
    var place = cString
    while place.pointee != 0 {
      bytes.append(UInt8(bitPattern: place.pointee))
      place += 1
    }
    self.bytes = bytes
  }

  private static let slash = UInt8(ascii: "/")

  /// Whether the path starts with a slash.
  public var isAbsolute: Bool { bytes.first == Self.slash }

  /// Whether the path has no bytes.
  public var isEmpty: Bool { bytes.isEmpty }

  /// The bytes after the last slash.
  public var lastComponent: BytePath {
    guard let index = bytes.lastIndex(of: Self.slash) else { return self }
    return BytePath(bytes: bytes[(index + 1)...])
  }

  /// The part before the last slash; `/` for a path directly below the root, empty without a slash.
  public var parent: BytePath {
    guard let index = bytes.lastIndex(of: Self.slash) else { return BytePath(bytes: []) }
    return BytePath(bytes: index == 0 ? bytes[...0] : bytes[..<index])
  }

  /// The non-empty parts between slashes.
  public var components: [BytePath] {
    bytes.split(separator: Self.slash).map { BytePath(bytes: $0) }
  }

  /// Appends a relative path after a slash; an absolute path replaces this one.
  public func appending(_ other: BytePath) -> BytePath {
    if other.isAbsolute || isEmpty { return other }
    if other.isEmpty { return self }
    var joined: [UInt8] = []
    joined.reserveCapacity(bytes.count + 1 + other.bytes.count)
    joined += bytes
    if bytes.last != Self.slash { joined.append(Self.slash) }
    joined += other.bytes
    return BytePath(bytes: joined)
  }

  /// Appends a text component after a slash.
  public func appending(_ text: String) -> BytePath { appending(BytePath(text)) }

  /// The path without `.`, empty components and, where text suffices to resolve it, `..`.
  public var normalized: BytePath {
    var parts: [BytePath] = []
    for part in components where part.bytes != [UInt8(ascii: ".")] {
      if part.bytes == Array("..".utf8), let last = parts.last, last.bytes != Array("..".utf8) {
        parts.removeLast()
      } else if part.bytes == Array("..".utf8), isAbsolute {
        continue
      } else {
        parts.append(part)
      }
    }
    let joined = parts.map(\.bytes).joined(separator: [Self.slash])
    return BytePath(bytes: (isAbsolute ? [Self.slash] : []) + Array(joined))
  }

  /// This path relative to `folder`, or `nil` if it is not below it.
  public func relative(to folder: BytePath) -> BytePath? {
    let prefix = folder.bytes.last == Self.slash ? folder.bytes : folder.bytes + [Self.slash]
    guard bytes.starts(with: prefix), bytes.count > prefix.count else { return nil }
    return BytePath(bytes: bytes[prefix.count...])
  }

  /// Calls `body` with the path as a null-terminated string.
  package func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    body(bytes.map { CChar(bitPattern: $0) } + [0])
  }

  /// The path as text, or `nil` if it is not UTF-8.
  public var utf8: String? { String(validating: bytes, as: UTF8.self) }

  public static func < (left: BytePath, right: BytePath) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }

  public init(stringLiteral value: String) { self.init(value) }
}

extension BytePath: CustomStringConvertible {
  /// The path as text, with bytes that are not UTF-8 percent-encoded.
  public var description: String {
    if let utf8 { return utf8 }
    var text = ""
    var rest = bytes[...]
    while let first = rest.first {
      let length = min(Self.sequenceLength(first), rest.count)
      if length > 0, let piece = String(validating: rest.prefix(length), as: UTF8.self) {
        text += piece
        rest = rest.dropFirst(length)
      } else {
        text += "%" + Hexadecimal.encode([first]).uppercased()
        rest = rest.dropFirst()
      }
    }
    return text
  }

  /// The description with control and bidirectional formatting characters escaped: safe for
  /// terminals and always on one line.
  public var printable: String { description.printable }

  /// The length of the UTF-8 sequence that starts with this byte; 0 if none does.
  private static func sequenceLength(_ first: UInt8) -> Int {
    switch first {
    case 0x00...0x7F: 1
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: 0
    }
  }
}

extension BytePath {
  /// The path as one shell word, for copying from a message.
  ///
  /// Unquoted if no byte is special to a shell, otherwise quoted. Unprintable bytes are written as
  /// in `$'\xe9'`, which bash, ksh and zsh understand.
  public var shellWord: String {
    let plain = Set("/-._~+:@%,0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    if !isEmpty, bytes.first != UInt8(ascii: "~"), bytes.allSatisfy(plain.contains) {
      return description
    }
    if utf8 != nil, printable == description {
      let pieces = description.split(separator: "'", omittingEmptySubsequences: false)
      return "'\(pieces.joined(separator: #"'\''"#))'"
    }
    let escaped = bytes.map { byte in
      plain.contains(byte) ? String(UnicodeScalar(byte)) : "\\x" + Hexadecimal.encode([byte])
    }
    return "$'\(escaped.joined())'"
  }
}

extension BytePath: Codable {
  /// Decodes a path that `encode` wrote.
  public init(from decoder: any Decoder) throws {
    self.init(bytes: try decoder.singleValueContainer().decode(Data.self))
  }

  /// Encodes the bytes, whatever they are; as base64 in JSON.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(Data(bytes))
  }
}

/// Distinguishes states of a file without reading it.
///
/// Leaves out the device number, which changes when a disk is remounted.
public struct FileIdentity: Hashable, Sendable {
  public var inode: UInt64
  /// The size in bytes.
  public var size: Int
  /// The modification time in nanoseconds since 1970.
  public var modified: Int64
  /// The status change time in nanoseconds since 1970; most file systems change it on rename.
  public var changed: Int64

  public init(inode: UInt64, size: Int, modified: Int64, changed: Int64) {
    self.inode = inode
    self.size = size
    self.modified = modified
    self.changed = changed
  }

  /// Whether inode, size and modification time, which survive a rename, are equal.
  public func isSameFile(as other: FileIdentity) -> Bool {
    inode == other.inode && size == other.size && modified == other.modified
  }
}
