/// Where originals are kept in an S3 bucket:
/// `s3://bucket/prefix?endpoint=https://host&region=eu-central-1&style=path`.
///
/// It never holds a secret.
public struct BucketLocation: Hashable, Sendable, CustomStringConvertible {
  /// How a request names its bucket.
  public enum Style: String, CaseIterable, Sendable {
    /// `https://host/bucket/key`
    case path
    /// `https://bucket.host/key`
    case host
  }

  public var bucket: String
  /// The beginning of all keys, without slashes at its ends; empty for the whole bucket.
  public var prefix: String
  /// The server, such as `https://s3.example.org:8080`; `nil` for that of the environment, else of
  /// Amazon's region.
  public var endpoint: String?
  public var region: String?
  public var style: Style?

  /// What names the place, whatever server it is reached by.
  public var name: String { prefix.isEmpty ? "s3://\(bucket)" : "s3://\(bucket)/\(prefix)" }

  public var description: String {
    var parameters: [String] = []
    if let endpoint { parameters.append("endpoint=\(endpoint)") }
    if let region { parameters.append("region=\(region)") }
    if let style { parameters.append("style=\(style.rawValue)") }
    return parameters.isEmpty ? name : "\(name)?\(parameters.joined(separator: "&"))"
  }

  /// Reads a location.
  public init(_ text: String) throws(LocationFault) {
    guard text.hasPrefix("s3://") else {
      throw LocationFault(reason: "must begin with “s3://”, as in “s3://bucket/prefix”")
    }
    let parts = text.dropFirst(5).split(
      separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let place = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    if place[0].contains("@") {
      throw LocationFault(
        reason: "must not hold a secret: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
          + "environment, or a profile in ~/.aws/credentials")
    }
    bucket = String(place[0])
    guard Self.isBucket(bucket) else {
      throw LocationFault(
        reason: "names no bucket: a bucket's name has 3 to 63 lower-case letters, digits, dots and "
          + "hyphens")
    }
    var prefix = place.count > 1 ? place[1] : ""
    while prefix.hasSuffix("/") { prefix.removeLast() }
    guard Self.isPrefix(prefix) else {
      throw LocationFault(
        reason: "has a prefix that not all servers and programs take alike: use letters, digits, "
          + "“-”, “_” and “.”, with single slashes between names")
    }
    self.prefix = String(prefix)
    if parts.count > 1 { try read(parameters: parts[1]) }
  }

  private mutating func read(parameters: Substring) throws(LocationFault) {
    for parameter in parameters.split(separator: "&", omittingEmptySubsequences: false) {
      let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = pair.count > 1 ? String(pair[1]) : ""
      switch pair[0] {
      case "endpoint": endpoint = try Self.endpoint(value)
      case "region":
        guard !value.isEmpty, value.utf8.allSatisfy(Self.isNameByte) else {
          throw LocationFault(reason: "has the region “\(value)”, which is no region's name")
        }
        region = value
      case "style":
        guard let style = Style(rawValue: value) else {
          throw LocationFault(reason: "has the style “\(value)”: use “path” or “host”")
        }
        self.style = style
      default:
        throw LocationFault(
          reason: "has the parameter “\(pair[0])”: there are “endpoint”, “region” and “style”")
      }
    }
  }

  /// Checks a server's address.
  ///
  /// - Returns: the address without what is the same without it: a slash at its end, and the scheme's own port, which
  ///   no request names.
  public static func endpoint(_ text: String) throws(LocationFault) -> String {
    let scheme = ["https://", "http://"].first { text.hasPrefix($0) }
    var host = text.dropFirst(scheme?.count ?? 0)
    if host.hasSuffix("/") { host.removeLast() }
    let allowed = host.utf8.allSatisfy { isNameByte($0) || [0x3A, 0x5B, 0x5D].contains($0) }
    guard scheme != nil, !host.isEmpty, allowed else {
      throw LocationFault(
        reason: "has the endpoint “\(text)”: it must be a server's address, such as "
          + "“https://s3.example.org”, without user, path or query")
    }
    let ownPort = scheme == "https://" ? ":443" : ":80"
    if host.hasSuffix(ownPort) { host.removeLast(ownPort.count) }
    return (scheme ?? "") + host
  }

  private static func isBucket(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard (3...63).contains(bytes.count), bytes.first != 0x2E, bytes.first != 0x2D,
      bytes.last != 0x2E, bytes.last != 0x2D
    else { return false }
    return !text.contains("..")
      && bytes.allSatisfy { isLowercase($0) || isDigit($0) || $0 == 0x2E || $0 == 0x2D }
  }

  private static func isPrefix(_ text: Substring) -> Bool {
    guard !text.isEmpty else { return true }
    return text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
      !part.isEmpty && part != "." && part != ".." && part.utf8.allSatisfy(isNameByte)
    }
  }

  /// Letters, digits, hyphen, underscore and dot.
  private static func isNameByte(_ byte: UInt8) -> Bool {
    isLowercase(byte) || isDigit(byte) || (0x41...0x5A).contains(byte)
      || [0x2D, 0x2E, 0x5F].contains(byte)
  }

  private static func isLowercase(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
