import Files
import Glibc
package import PipelineModel

/// What `serve` was asked for.
package struct WebOptions: Sendable {
  /// Where it is reached.
  package enum Place: Hashable, Sendable {
    /// An address in numbers, and a port.
    case address(String, UInt16)
    case socket(BytePath)
    /// The service manager listens.
    case inherited

    /// Reads `127.0.0.1:8420`, `[::1]:8420`, `localhost:8420`, `unix:PATH` or `systemd`; `nil` for anything
    /// else.
    ///
    /// - Parameter path: makes a path absolute.
    package init?(_ text: BytePath, path: (BytePath) -> BytePath) {
      if text == "systemd" {
        self = .inherited
        return
      }
      let prefix = Array("unix:".utf8)
      if text.bytes.starts(with: prefix), text.bytes.count > prefix.count {
        self = .socket(path(BytePath(bytes: text.bytes.dropFirst(prefix.count))))
        return
      }
      guard let text = text.utf8, let colon = text.lastIndex(of: ":"),
        let port = UInt16(text[text.index(after: colon)...])
      else { return nil }
      var host = String(text[..<colon])
      if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
      if host == "localhost" { host = "127.0.0.1" }
      guard WebOptions.isAddress(host) else { return nil }
      self = .address(host, port)
    }
  }

  package var place: Place
  package var base: BaseURL?
  package var allowed: [WebChange]
  package var hidden: [HiddenFact]
  package var token: String?
  /// Whether others may read without a token.
  package var isOpen: Bool

  package init(
    place: Place, base: BaseURL? = nil, allowed: [WebChange] = [],
    hidden: [HiddenFact] = [], token: String? = nil, isOpen: Bool = false
  ) {
    self.place = place
    self.base = base
    self.allowed = allowed
    self.hidden = hidden
    self.token = token
    self.isOpen = isOpen
  }

  /// Refuses to show the pictures to everybody on the network by mistake.
  func check() throws(ServingError) {
    guard case .address(let host, _) = place, !ListeningSocket.isLoopback(host) else { return }
    guard isForOthers else { throw ServingError(.usage, Self.warning(of: host)) }
    if ListeningSocket.isWildcard(host), base == nil {
      throw ServingError(
        .usage,
        "Add --base-url http://NAME:PORT/ with the name or address of this machine that browsers use: "
          + "requests for other names are refused.")
    }
  }

  /// Whether others may see the pictures: those who know the token, or everybody.
  var isForOthers: Bool { token != nil || isOpen }

  static func warning(of place: String) -> String {
    "Whoever reaches \(place) could see all pictures: add --token-file FILE, or --insecure-no-auth if "
      + "that is meant. With a proxy in front, listen on 127.0.0.1 or on unix:PATH."
  }

  /// The names that a client may know the server by.
  var hosts: [String] {
    var hosts = ["localhost", "127.0.0.1", "::1"]
    if case .address(let host, _) = place { hosts.append(host.lowercased()) }
    if let base { hosts.append(base.host) }
    return hosts
  }

  fileprivate static func isAddress(_ host: String) -> Bool {
    var address = in6_addr()
    return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
  }

  /// Reads a token from a file that nobody else may read.
  package static func token(in file: BytePath) throws -> String {
    let folder = try Descriptor.openFolder(file.parent)
    let descriptor = try Descriptor.openRegular(file.lastComponent, in: folder)
    guard try descriptor.status().permissions & 0o077 == 0 else {
      throw ServingError(
        .usage,
        "Others may read the token in “\(file.printable)”: chmod 600 it, and change the token.")
    }
    let bytes = try folder.readFile(file.lastComponent, limit: 4096)
    let token = String(decoding: bytes, as: UTF8.self).trimmedToken
    guard token.utf8.count >= 16, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw ServingError(
        .usage,
        "“\(file.printable)” must hold one word of at least 16 printable characters; `openssl rand -hex 32` "
          + "makes one.")
    }
    return token
  }
}

extension String {
  fileprivate var trimmedToken: String {
    var text = Substring(self)
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
  }
}

/// Where a proxy shows the page.
package struct BaseURL: Hashable, Sendable {
  /// Without a port, in lower case.
  package let host: String
  /// Begins and ends with a slash.
  package let path: String
  package let isSecure: Bool

  /// Reads `https://example.org/pictures/`; `nil` for anything else.
  package init?(_ text: String) {
    let schemes = ["https://", "http://"]
    guard let scheme = schemes.first(where: { text.hasPrefix($0) }) else { return nil }
    let rest = text.dropFirst(scheme.count)
    let end = rest.firstIndex(of: "/") ?? rest.endIndex
    guard let host = HostName(String(rest[..<end]))?.name else { return nil }
    let path = String(rest[end...])
    let isPlain = path.utf8.allSatisfy { byte in
      byte.isASCIILetterOrDigit || "/-._~".utf8.contains(byte)
    }
    guard isPlain, !path.contains("//"), !path.contains("..") else { return nil }
    self.host = host
    self.path = path.hasSuffix("/") ? path : path + "/"
    isSecure = scheme == "https://"
  }
}

/// A host with its port, as the header `Host` has it.
package struct HostName: Hashable, Sendable {
  /// In lower case, and without the brackets of an IPv6 address.
  package let name: String

  /// Reads `example.org:8420`, `127.0.0.1` or `[::1]:8420`; `nil` for anything else. Source: RFC 9110,
  /// section 7.2.
  package init?(_ text: String) {
    var name = Substring(text)
    var port: Substring?
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { return nil }
      name = text[text.index(after: text.startIndex)..<end]
      let rest = text[text.index(after: end)...]
      guard
        name.utf8.allSatisfy({ $0.isHexDigit || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
        )
      else { return nil }
      if !rest.isEmpty {
        guard rest.hasPrefix(":") else { return nil }
        port = rest.dropFirst()
      }
    } else {
      if let colon = text.firstIndex(of: ":") {
        name = text[..<colon]
        port = text[text.index(after: colon)...]
      }
      let isPlain = name.utf8.allSatisfy { byte in
        byte.isASCIILetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
      }
      guard isPlain else { return nil }
    }
    guard !name.isEmpty, name.utf8.count <= 253 else { return nil }
    if let port {
      guard port.utf8.count <= 5, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
        return nil
      }
    }
    self.name = name.lowercased()
  }
}

extension UInt8 {
  fileprivate var isASCIILetterOrDigit: Bool {
    (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
  }

  fileprivate var isHexDigit: Bool {
    (0x30...0x39).contains(self) || (0x41...0x46).contains(self) || (0x61...0x66).contains(self)
  }
}
