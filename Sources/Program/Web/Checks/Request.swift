import LibrarySession
import PipelineModel

/// A request that passed the checks that every request has to pass.
struct Request: Sendable {
  enum Method: String, Sendable { case get = "GET", head = "HEAD", post = "POST" }

  let method: Method
  let target: RequestTarget
  let fields: RequestFields

  /// Checks what does not depend on what is asked for.
  ///
  /// - Parameters:
  ///   - hosts: the names that the server is known by, in lower case.
  init(
    method: String, target: [UInt8], fields: RequestFields, hosts: Set<String>
  ) throws(HTTPError) {
    guard fields.hosts.count == 1, let host = HostName(fields.hosts[0]) else {
      throw .badRequest("A request needs exactly one valid Host.")
    }
    guard hosts.contains(host.name) else {
      throw HTTPError(
        421, "wrongHost",
        "This server is not known by that name; `pipeline serve --base-url` gives it another.")
    }
    self.target = try RequestTarget(target, hosts: hosts)
    guard let method = Method(rawValue: method) else {
      throw HTTPError(
        405, "method", "The server does not know this method.",
        headers: [Header("Allow", "GET, HEAD")])
    }
    self.method = method
    self.fields = fields
  }

  /// Refuses what another site made a browser send. Source: Fetch Metadata; RFC 6454.
  ///
  /// A page's origin has the host and the port by which it was asked for, as `Host` has; another port of this
  /// machine is another site.
  func requireSameOrigin() throws(HTTPError) {
    let foreign = HTTPError(
      403, "foreign", "Changes are accepted from the server's own pages only.")
    if let site = fields.secFetchSite, site != "same-origin" { throw foreign }
    guard let origin = fields.origin?.lowercased() else { return }
    let host = fields.hosts.first?.lowercased() ?? ""
    guard !host.isEmpty, ["http://" + host, "https://" + host].contains(origin) else {
      throw foreign
    }
  }

  /// Whether the body is a form: that of the login.
  var isForm: Bool { target.path == ["login"] }

  /// Whether the client takes a compressed answer.
  var acceptsGzip: Bool {
    (fields.acceptEncoding ?? "").lowercased().split(separator: ",").contains { part in
      let words = part.split(separator: ";").map { $0.filter { $0 != " " } }
      return words.first == "gzip"
        && !words.dropFirst().contains {
          $0.hasPrefix("q=0") && !$0.contains { "123456789".contains($0) }
        }
    }
  }

  /// Whether the client has this version already. Source: RFC 9110, section 13.1.2.
  func has(_ tag: String) -> Bool {
    guard let header = fields.ifNoneMatch else { return false }
    return header == "*"
      || header.split(separator: ",").contains { part in
        var part = part.filter { $0 != " " }
        if part.hasPrefix("W/") { part.removeFirst(2) }
        return part == tag
      }
  }
}

/// The headers of a request that the server reads.
struct RequestFields: Hashable, Sendable {
  /// All values of `Host`.
  var hosts: [String] = []
  var authorization: String?
  var cookie: String?
  var accept: String?
  var acceptEncoding: String?
  var ifNoneMatch: String?
  var ifRange: String?
  var range: String?
  var origin: String?
  var secFetchSite: String?
  var contentType: String?
  /// Bytes of the body, as announced.
  var contentLength: Int?

  /// Reads a header; those that nothing depends on are ignored.
  mutating func add(_ name: String, _ value: String) {
    switch name.lowercased() {
    case "host": hosts.append(value)
    case "authorization": authorization = value
    case "cookie": cookie = cookie.map { "\($0); \(value)" } ?? value
    case "accept": accept = accept.map { "\($0), \(value)" } ?? value
    case "accept-encoding": acceptEncoding = value
    case "if-none-match": ifNoneMatch = value
    case "if-range": ifRange = value
    case "range": range = value
    case "origin": origin = value
    case "sec-fetch-site": secFetchSite = value
    case "content-type": contentType = value
    case "content-length": contentLength = Int(value)
    default: break
    }
  }
}
