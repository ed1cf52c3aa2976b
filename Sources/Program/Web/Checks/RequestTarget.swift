import LibrarySession
import PipelineModel

/// The path and the query of a request, decoded and checked.
///
/// Source: RFC 9112, section 3.2; RFC 3986.
struct RequestTarget: Hashable, Sendable {
  /// The decoded segments of the path, none of them empty, `.` or `..`; the last one is left out if the
  /// path ends with a slash.
  let path: [String]
  /// Whether the path ends with a slash, as `/` does.
  let endsWithSlash: Bool
  /// The decoded names and values of the query, each name once.
  let query: [String: String]

  /// The longest target in bytes, the most segments, and the most names of a query.
  static let longest = 8 << 10
  private static let mostSegments = 16
  private static let mostNames = 32

  /// - Parameters:
  ///   - bytes: the target as it was sent.
  ///   - hosts: the names that an absolute URL may have.
  init(_ bytes: some Collection<UInt8>, hosts: Set<String>) throws(HTTPError) {
    guard bytes.count <= Self.longest else {
      throw HTTPError(414, "tooLong", "The address is longer than \(Self.longest) bytes.")
    }
    guard bytes.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else {
      throw .badRequest("The address has characters that belong percent-encoded.")
    }
    let relative = try Self.origin(Array(bytes)[...], hosts: hosts)
    let parts = relative.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    var segments = parts[0].dropFirst().split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard segments.count <= Self.mostSegments else { throw .notFound }
    endsWithSlash = segments.last?.isEmpty == true
    if endsWithSlash { segments.removeLast() }
    var path: [String] = []
    for segment in segments {
      let text = try Self.decoded(segment, plusIsSpace: false)
      guard !text.isEmpty else { throw .notFound }
      // By bytes: comparing characters showed in the profile of the server.
      let isWithin = text.utf8.allSatisfy { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }
      guard text != ".", text != "..", isWithin else {
        throw .badRequest("The path leads out of its folder.")
      }
      path.append(text)
    }
    self.path = path
    query = try parts.count > 1 ? Self.form(parts[1]) : [:]
  }

  /// Decodes what a form or a query has.
  static func form(_ bytes: ArraySlice<UInt8>) throws(HTTPError) -> [String: String] {
    var values: [String: String] = [:]
    for pair in bytes.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let name = try decoded(parts[0], plusIsSpace: true)
      let value = try parts.count > 1 ? decoded(parts[1], plusIsSpace: true) : ""
      guard values.updateValue(value, forKey: name) == nil else {
        throw .badRequest("The query has a name twice.")
      }
      guard values.count <= mostNames else { throw .badRequest("The query has too many names.") }
    }
    return values
  }

  /// The part of a target from the path on.
  private static func origin(
    _ bytes: ArraySlice<UInt8>, hosts: Set<String>
  ) throws(HTTPError) -> ArraySlice<UInt8> {
    if bytes.first == UInt8(ascii: "/") { return bytes }
    for scheme in ["http://", "https://"] {
      guard bytes.count > scheme.utf8.count,
        String(decoding: bytes.prefix(scheme.utf8.count), as: UTF8.self).lowercased() == scheme
      else { continue }
      let rest = bytes.dropFirst(scheme.utf8.count)
      let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
      let host = HostName(String(decoding: rest[..<(end ?? rest.endIndex)], as: UTF8.self))
      guard let host, hosts.contains(host.name) else { break }
      guard let end else { return [UInt8(ascii: "/")] }
      return rest[end] == UInt8(ascii: "/") ? rest[end...] : [UInt8(ascii: "/")] + rest[end...]
    }
    throw .badRequest("The address is of another server.")
  }

  /// Decodes percent-encoded UTF-8.
  private static func decoded(
    _ bytes: ArraySlice<UInt8>, plusIsSpace: Bool
  ) throws(HTTPError) -> String {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var rest = bytes
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard rest.count >= 2, let value = Hexadecimal.decode(rest.prefix(2))?.first else {
          throw .badRequest("The address has a “%” without two hexadecimal digits.")
        }
        decoded.append(value)
        rest = rest.dropFirst(2)
      case UInt8(ascii: "+") where plusIsSpace: decoded.append(UInt8(ascii: " "))
      default: decoded.append(byte)
      }
    }
    guard !decoded.contains(0), let text = String(validating: decoded, as: UTF8.self) else {
      throw .badRequest("The address is not UTF-8, or contains a zero byte.")
    }
    return text
  }
}
