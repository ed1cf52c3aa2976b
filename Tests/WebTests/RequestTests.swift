import LibrarySession
import PipelineModel
import Testing

@testable import Web

@Suite("Checks of requests", .timeLimit(.minutes(1)))
struct RequestTests {
  private static let hosts: Set<String> = ["localhost", "127.0.0.1", "::1", "example.org"]

  private func request(
    _ hosts: [String] = ["localhost:8420"], method: String = "GET",
    _ change: (inout RequestFields) -> Void = { _ in }
  ) throws(HTTPError) -> Request {
    var fields = RequestFields()
    for host in hosts { fields.add("Host", host) }
    change(&fields)
    return try Request(
      method: method, target: Array("/x".utf8), fields: fields, hosts: Self.hosts)
  }

  @Test(
    "The server is known by its names only",
    arguments: [
      (["localhost"], 200), (["LocalHost:1"], 200), (["127.0.0.1:8420"], 200),
      (["[::1]:8420"], 200),
      (["example.org"], 200), (["evil.example"], 421), (["localhost.evil"], 421),
      (["localhost", "localhost"], 400), ([], 400), ([""], 400), (["local host"], 400),
      (["localhost:x"], 400), (["localhost:"], 200), (["localhost:123456"], 400), (["[::1"], 400),
      (["user@localhost"], 400), (["localhost/"], 400), (["[::1]x"], 400),
    ] as [([String], Int)])
  func hosts(hosts: [String], status: Int) {
    do throws(HTTPError) {
      _ = try request(hosts)
      #expect(status == 200)
    } catch {
      #expect(error.status == status)
    }
  }

  @Test("Other methods are refused", arguments: ["PUT", "DELETE", "TRACE", "get", "", "CONNECT"])
  func methods(method: String) {
    let error = #expect(throws: HTTPError.self) { try request(method: method) }
    #expect(error?.status == 405)
  }

  @Test(
    "A change comes from the server's own pages",
    arguments: [
      (nil, nil, true), ("http://localhost:8420", "same-origin", true),
      ("http://LOCALHOST:8420", nil, true), ("https://localhost:8420", nil, true),
      ("http://example.org", nil, false), ("http://127.0.0.1:8420", nil, false),
      ("http://localhost:9999", nil, false), ("http://evil.example", nil, false),
      ("null", nil, false), (nil, "cross-site", false), (nil, "same-site", false),
      (nil, "none", false), ("http://localhost:8420", "cross-site", false),
      ("file://", nil, false), ("", nil, false),
    ] as [(String?, String?, Bool)])
  func origins(origin: String?, site: String?, isAllowed: Bool) throws {
    let request = try request {
      $0.origin = origin
      $0.secFetchSite = site
    }
    do throws(HTTPError) {
      try request.requireSameOrigin()
      #expect(isAllowed)
    } catch {
      #expect(!isAllowed && error.status == 403)
    }
  }

  @Test("What a client has already, or can unpack, is what RFC 9110 says")
  func negotiation() throws {
    for (header, expected) in [
      ("gzip", true), ("deflate, GZIP;q=0.5", true), ("gzip;q=0", false), ("gzip; q=0.0", false),
      ("br", false), ("", false),
    ] {
      #expect(try request { $0.acceptEncoding = header }.acceptsGzip == expected, "\(header)")
    }
    for (header, expected) in [
      ("\"a\"", true), ("W/\"a\"", true), ("\"b\", \"a\"", true), ("*", true), ("\"b\"", false),
      ("a", false),
    ] {
      #expect(try request { $0.ifNoneMatch = header }.has("\"a\"") == expected, "\(header)")
    }
  }

  @Test("A token is known by the header or the cookie that came for it")
  func tokens() {
    let access = ClientAccess(token: "0123456789abcdef")
    let value = access.cookie(path: "/p/", isSecure: true).value
    let cookie = String(value.prefix { $0 != ";" })
    #expect(value.hasSuffix("; Path=/p/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure"))
    #expect(!value.contains("0123456789abcdef"))
    #expect(access.allows(authorization: nil, cookie: "other=1; \(cookie)"))
    #expect(access.allows(authorization: "bearer 0123456789abcdef", cookie: nil))
    for (authorization, cookie) in [
      (nil, nil), ("Bearer", nil), ("Bearer 0123456789abcdeg", nil),
      ("Bearer 0123456789abcde", nil),
      ("Basic 0123456789abcdef", nil), (nil, "pipeline="), (nil, "pipeline=0123456789abcdef"),
      (nil, "x\(cookie)"),
    ] as [(String?, String?)] {
      #expect(!access.allows(authorization: authorization, cookie: cookie))
    }
    #expect(ClientAccess(token: nil).allows(authorization: nil, cookie: nil))
    #expect(!ClientAccess(token: nil).isToken(""))
  }

  @Test("Only addresses of the server follow a login")
  func next() {
    for next in ["", "a/1?q=x%3Ay", "?q=a:b", "work"] { #expect(WebResponder.safe(next) == next) }
    for next in [
      "//evil.example", "/x", "http://evil.example", "javascript:x", "a b", "\\\\x", "é",
    ] {
      #expect(WebResponder.safe(next).isEmpty, "\(next)")
    }
  }
}
